// Runs the same tests with larger and more attacks.
import './fair-sharing.spec';
