// Runs more generated attacks, different ones each time.
import './generated-attacks.spec';
