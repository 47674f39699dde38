import { type InstrumentedSpan, textParts } from './instrumented-span.fixture';

export const OPEN_TELEMETRY_SPANS: readonly InstrumentedSpan[] = [
  {
    sentBy: 'OpenTelemetry, current names, with structured attributes',
    attributes: {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'anthropic',
      'gen_ai.request.model': 'claude-sonnet-5',
      'gen_ai.response.model': 'claude-sonnet-5-20260815',
      'gen_ai.agent.name': 'Weather Guide',
      'gen_ai.conversation.id': 'conv_5j66',
      'gen_ai.usage.input_tokens': 2100,
      'gen_ai.usage.output_tokens': 180,
      'gen_ai.usage.cache_read.input_tokens': 2000,
      'gen_ai.usage.cache_write.input_tokens': 50,
      'gen_ai.usage.reasoning.output_tokens': 120,
      'gen_ai.system_instructions': textParts('Be brief.'),
      'gen_ai.input.messages': [{ role: 'user', parts: textParts('Weather in Paris?') }],
      'gen_ai.output.messages': [{ role: 'assistant', parts: textParts('Rainy.'), finish_reason: 'stop' }],
      'gen_ai.tool.definitions': [{ type: 'function', name: 'get_weather' }],
    },
    meaning: {
      operation: 'chat',
      provider: 'anthropic',
      model: 'claude-sonnet-5-20260815',
      agentName: 'Weather Guide',
      sessionId: 'conv_5j66',
      inputTokens: 2100,
      outputTokens: 180,
      cachedInputTokens: 2000,
      cacheWriteTokens: 50,
      reasoningTokens: 120,
      input: [
        { role: 'system', parts: textParts('Be brief.') },
        { role: 'user', parts: textParts('Weather in Paris?') },
      ],
      output: [{ role: 'assistant', parts: textParts('Rainy.'), finish_reason: 'stop' }],
    },
  },
  {
    sentBy: 'OpenTelemetry, of a tool',
    attributes: {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'get_weather',
      'gen_ai.tool.call.id': 'call_mszu',
      'gen_ai.tool.type': 'function',
      'gen_ai.tool.call.arguments': { city: 'Paris' },
      'gen_ai.tool.call.result': { conditions: 'rain' },
    },
    meaning: {
      operation: 'execute_tool',
      toolName: 'get_weather',
      input: { city: 'Paris' },
      output: { conditions: 'rain' },
    },
  },
  {
    sentBy: 'OpenTelemetry, of a search',
    attributes: {
      'gen_ai.operation.name': 'retrieval',
      'gen_ai.data_source.id': 'H7STPQYOND',
      'gen_ai.retrieval.query.text': 'weather in Paris',
      'gen_ai.retrieval.documents': '[{"id":"doc_123","score":0.95}]',
    },
    meaning: {
      operation: 'retrieval',
      input: 'weather in Paris',
      output: [{ id: 'doc_123', score: 0.95 }],
    },
  },
  {
    sentBy: 'OpenTelemetry up to 1.36, with an event for each message',
    attributes: {
      'gen_ai.operation.name': 'chat',
      'gen_ai.system': 'openai',
      'gen_ai.request.model': 'gpt-4o-mini',
      'gen_ai.response.model': 'gpt-4o-mini-2024-07-18',
      'gen_ai.usage.input_tokens': 24,
      'gen_ai.usage.output_tokens': 7,
    },
    events: [
      { name: 'gen_ai.system.message', attributes: { 'gen_ai.system': 'openai', content: 'Be brief.' } },
      { name: 'gen_ai.user.message', attributes: { 'gen_ai.system': 'openai', content: 'Why?' } },
      {
        name: 'gen_ai.choice',
        attributes: { index: 0, finish_reason: 'stop', message: '{"role":"assistant","content":"So."}' },
      },
    ],
    meaning: {
      operation: 'chat',
      provider: 'openai',
      model: 'gpt-4o-mini-2024-07-18',
      inputTokens: 24,
      outputTokens: 7,
      input: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Why?' },
      ],
      output: [
        {
          role: 'assistant',
          index: 0,
          finish_reason: 'stop',
          message: { role: 'assistant', content: 'So.' },
        },
      ],
    },
  },
  {
    sentBy: 'OpenTelemetry up to 1.26, with JSON attributes',
    attributes: {
      'gen_ai.system': 'openai',
      'gen_ai.request.model': 'gpt-4',
      'gen_ai.usage.prompt_tokens': 12,
      'gen_ai.usage.completion_tokens': 7,
      'gen_ai.prompt': '[{"role":"user","content":"Why?"}]',
      'gen_ai.completion': 'So.',
    },
    meaning: {
      provider: 'openai',
      model: 'gpt-4',
      inputTokens: 12,
      outputTokens: 7,
      input: [{ role: 'user', content: 'Why?' }],
      output: 'So.',
    },
  },
];
