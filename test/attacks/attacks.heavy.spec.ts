// Runs the same attacks, several times as large.
import './attacks.spec';
