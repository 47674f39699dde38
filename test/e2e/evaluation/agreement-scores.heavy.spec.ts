// Runs the same tests, and one with more human scores than the service reads.
import './agreement-scores.spec';
