// The same attacks, larger and more numerous.
import './fair-sharing.spec';
