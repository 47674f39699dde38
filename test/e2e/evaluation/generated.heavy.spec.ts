// The generated requests again, many more of them.
import './generated-bodies.spec';
import './generated-experiments.spec';
import './generated-queries.spec';
import './generated-uploads.spec';
