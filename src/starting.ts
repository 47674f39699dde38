/** To be imported before anything else: loading the rest takes a second or more, and a signal may come meanwhile. */
import { endOnSignal } from '#platform/process';

endOnSignal();
