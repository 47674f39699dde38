// Runs the same tests as every outsider within every workspace.
import './matrix.spec';
