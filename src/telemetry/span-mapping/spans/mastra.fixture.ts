import type { InstrumentedSpan } from './instrumented-span.fixture';

export const MASTRA_SPANS: readonly InstrumentedSpan[] = [
  {
    sentBy: "Mastra's bridge, of an agent",
    attributes: {
      'gen_ai.operation.name': 'invoke_agent',
      'mastra.span.type': 'agent_run',
      'mastra.agent_run.input': 'Where is order 7?',
      'mastra.agent_run.output': '{"text":"Order 7 has shipped.","files":[]}',
      'gen_ai.agent.id': 'support',
      'gen_ai.agent.name': 'support',
      'gen_ai.system_instructions': 'Be brief.',
      'mastra.metadata.userId': 'ada',
      'mastra.metadata.sessionId': 's-7',
      'mastra.tags': '["orders"]',
    },
    meaning: {
      operation: 'invoke_agent',
      agentName: 'support',
      userId: 'ada',
      sessionId: 's-7',
      tags: ['orders'],
      input: 'Where is order 7?',
      output: 'Order 7 has shipped.',
    },
  },
  {
    sentBy: "Mastra's bridge, of an agent with messages that answers with an object",
    attributes: {
      'gen_ai.operation.name': 'invoke_agent',
      'mastra.agent_run.input': '[{"role":"user","content":"Where is order 7?"}]',
      'mastra.agent_run.output': '{"object":{"state":"shipped"},"files":[]}',
    },
    meaning: {
      operation: 'invoke_agent',
      input: [{ role: 'user', content: 'Where is order 7?' }],
      output: { object: { state: 'shipped' }, files: [] },
    },
  },
];
