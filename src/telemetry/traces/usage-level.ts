/**
 * Steps that consist of calls of models rather than being one, in the words of the conventions (lower case). Their
 * instrumentations add up on such a span what the calls below it used, so adding both would count everything twice.
 */
const STEPS_OF_CALLS = new Set([
  // gen_ai.operation.name
  'invoke_agent',
  'create_agent',
  'invoke_workflow',
  'handle_conversation_turn',
  // openinference.span.kind
  'agent',
  'chain',
  // traceloop.span.kind, besides agent
  'workflow',
  'task',
  // ai.operationId; the calls are ai.generateText.doGenerate and the like
  'ai.generatetext',
  'ai.streamtext',
  'ai.generateobject',
  'ai.streamobject',
  'ai.embed',
  'ai.embedmany',
]);

/** Whether a span's tokens and cost repeat those of the model calls below it, by the operation it tells. */
export const repeatsUsage = (operation: string | null): boolean =>
  operation !== null && STEPS_OF_CALLS.has(operation.toLowerCase());
