"""The trust boundary: a statistic with a stated sensitivity goes in, a released score comes out."""
