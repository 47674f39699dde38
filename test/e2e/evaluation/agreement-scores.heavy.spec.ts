// The same, with more human scores than are read.
import './agreement-scores.spec';
