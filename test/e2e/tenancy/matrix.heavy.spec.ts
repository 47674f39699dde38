// The same for every outsider, within every workspace.
import './matrix.spec';
