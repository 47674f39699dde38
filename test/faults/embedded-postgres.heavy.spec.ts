// Runs the same tests for every kind of stale postmaster.pid.
import './embedded-postgres.spec';
