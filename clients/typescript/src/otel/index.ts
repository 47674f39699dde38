import { isPreloaded } from './environment.js';
import { startTracing } from './tracing.js';

export type { TraceMembers } from './context.js';
export {
  currentSpan,
  currentTraceId,
  observe,
  type ObserveOptions,
  type SpanKindName,
  withTrace,
} from './observe.js';
export { openAIAgentsProcessor } from './openai-agents.js';
export {
  AgentRegistrySpanExporter,
  agentRegistrySpanProcessor,
  type ExportOptions,
  type ServiceSpanProcessor,
} from './service-exporter.js';
export type { TracingStats } from './span-queue.js';
export { startTracing, type Tracing, type TracingOptions } from './tracing.js';

// `node --import agent-registry/otel agent.js` starts tracing from the environment. Importing the functions does not.
if (isPreloaded('agent-registry/otel')) {
  try {
    startTracing();
  } catch (error) {
    console.warn(`agent-registry: No traces are sent. ${(error as Error).message}`);
  }
}
