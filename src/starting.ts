/** Import this before anything else, because a signal may arrive while the other modules load, which takes seconds. */
import { endOnSignal } from '#platform/process';

endOnSignal();
