// The same races, more often.
import './human-landing-races.spec';
