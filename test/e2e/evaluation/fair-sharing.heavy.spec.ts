// The same attacks, larger and more of them.
import './fair-sharing.spec';
