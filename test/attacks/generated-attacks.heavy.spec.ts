// More of the generated attacks, different ones each time.
import './generated-attacks.spec';
