"""What every experiment shares: plans, results on disk, verdicts, pages."""
