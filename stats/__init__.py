"""Statistics: arrays in, one frozen result out; one file a statistic."""
