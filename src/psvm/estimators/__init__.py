"""What users fit: PSVC, LinearPSVC and the path; parameters in, fitted attributes out."""
