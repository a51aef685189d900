"""What the benchmarks that run programs share: where they work, how they time, how they tell."""
