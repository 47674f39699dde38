// The same for every list.
import './large-pages.spec';
