// The same attacks, several times as large.
import './attacks.spec';
