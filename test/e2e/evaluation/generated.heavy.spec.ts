// Runs the same tests with many more generated requests.
import './generated-bodies.spec';
import './generated-experiments.spec';
import './generated-queries.spec';
import './generated-uploads.spec';
