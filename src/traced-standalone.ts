/** To be imported after `starting` and before anything else: what is to be traced is patched as it is loaded. */
import { startTracing } from '#platform/tracing';

startTracing('standalone');
