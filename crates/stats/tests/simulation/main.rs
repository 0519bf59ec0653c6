//! What the statistics promise, checked by seeded simulation: the same noise in every run.

mod calibrate;
mod coverage;
mod false_positives;
mod looks;
mod noise;
