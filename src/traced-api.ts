/** Import this after `starting` and before anything else, because OpenTelemetry patches modules while they load. */
import { startTracing } from '#platform/tracing';

startTracing('api');
