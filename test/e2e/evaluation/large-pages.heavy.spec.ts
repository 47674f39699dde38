// Runs the same test for every list.
import './large-pages.spec';
