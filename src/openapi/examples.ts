const WORKSPACE_ID = 'wsp_01jd0000000000000000000001';
const DATASET_ID = 'ds_01jd0000000000000000000002';
const RECORD_ID = 'rec_01jd0000000000000000000003';
const EXPERIMENT_ID = 'exp_01jd0000000000000000000004';
const SCORER_ID = 'scr_01jd0000000000000000000005';
const RESULT_ID = 'res_01jd0000000000000000000006';
const PROVIDER_ID = 'prov_01jd0000000000000000000009';
const OTHER_PROVIDER_ID = 'prov_01jd000000000000000000000a';
const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';

interface Example {
  summary: string;
  value: object;
}

const record = {
  input: { question: 'What is 6 times 7?' },
  expected: '42',
  label: 'easy',
  external_id: 'case-1',
};

const result = {
  case_id: 'case-1',
  dataset_record_id: RECORD_ID,
  input: record.input,
  expected: record.expected,
  output: '42',
  scores: { exact: 1, tone: { score: 0.5, comment: 'curt', metadata: { judge: 'a person' } } },
  trace_id: TRACE_ID,
  duration_ms: 812,
};

/** Example request bodies, by `operationId`. */
export const REQUEST_EXAMPLES: Record<string, Record<string, Example>> = {
  createApp: {
    app: {
      summary: "An app with one server. Set the server's secret after the first reconcile.",
      value: {
        workspace_id: WORKSPACE_ID,
        app: 'support',
        resources: [
          {
            kind: 'mcp_server',
            name: 'tickets',
            spec: { url: 'https://tickets.example.com/mcp', auth: { type: 'bearer' } },
          },
        ],
      },
    },
  },
  createPublisherItem: {
    agent: {
      summary: 'An agent with its skills and servers',
      value: {
        workspace_id: WORKSPACE_ID,
        artifact: { kind: 'agent', artifact_id: 'agt_01jd0000000000000000000008' },
        name: 'Invoice reader',
        category: 'agents',
        license: 'Apache-2.0',
        actions: ['install', 'download'],
        tagline: 'Reads invoices and files them.',
        topics: ['finance'],
        version_label: '1.0',
      },
    },
  },
  setPublisherItemPolicy: {
    listed: {
      summary: 'Listed for everyone',
      value: { audience: { is_public: true }, is_listed: true, can_acquire: true },
    },
  },
  createApi: {
    api: {
      summary: 'A read-only API, with its key in a header',
      value: {
        workspace_id: WORKSPACE_ID,
        name: 'orders',
        base_url: 'https://orders.example.com/v2',
        auth: { type: 'header', name: 'X-Api-Key', value: 'a-secret' },
        allowed_methods: ['GET', 'HEAD'],
        requests_per_minute: 600,
      },
    },
  },
  createModelProvider: {
    openai: {
      summary: 'OpenAI, with its key',
      value: { workspace_id: WORKSPACE_ID, name: 'openai', kind: 'openai', api_key: 'a-secret' },
    },
    local: {
      summary: 'An OpenAI-compatible server in your network that needs no key',
      value: {
        workspace_id: WORKSPACE_ID,
        name: 'vllm',
        kind: 'openai',
        base_url: 'http://vllm.internal.example.com:8000/v1',
      },
    },
  },
  createModel: {
    fallback: {
      summary: 'A model that falls back to another provider when the first one fails',
      value: {
        workspace_id: WORKSPACE_ID,
        name: 'assistant',
        targets: [
          { provider_id: PROVIDER_ID, upstream_model: 'gpt-4o' },
          { provider_id: OTHER_PROVIDER_ID, upstream_model: 'claude-sonnet-4-5' },
        ],
        monthly_budget_usd: 500,
      },
    },
  },
  createGatewayKey: {
    key: {
      summary: 'A key for one model, with a budget',
      value: {
        workspace_id: WORKSPACE_ID,
        name: 'support bot',
        models: ['assistant'],
        monthly_budget_usd: 50,
        requests_per_minute: 60,
      },
    },
  },
  setModelBudget: { budget: { summary: 'A monthly budget', value: { monthly_budget_usd: 1000 } } },
  createMcpServer: {
    server: {
      summary: 'A server with a secret and one tool',
      value: {
        workspace_id: WORKSPACE_ID,
        name: 'tickets',
        url: 'https://tickets.example.com/mcp',
        auth: { type: 'header', header: 'X-Api-Key', value: 'a-secret' },
        tools: [{ name: 'search', input_schema: { type: 'object' } }],
      },
    },
  },
  createDataset: {
    dataset: {
      summary: 'A dataset that validates its records against a schema',
      value: {
        workspace_id: WORKSPACE_ID,
        name: 'arithmetic',
        input_schema: { type: 'object', required: ['question'] },
      },
    },
  },
  searchDatasets: {
    metadata: {
      summary: 'Datasets of one team that have both tags, sorted by name',
      value: { tags: ['nightly', 'en'], metadata: { team: 'search' }, sort: 'name', limit: 20 },
    },
  },
  createDatasetVersion: {
    csv: {
      summary: 'A CSV file with the case ids in the column `case`',
      value: {
        workspace_id: WORKSPACE_ID,
        content: 'case,question,answer,level\r\nc1,What is 6 times 7?,42,easy\r\n',
        case_id_column: 'case',
        mapping: { expected: ['answer'], tags: ['level'] },
      },
    },
  },
  createRecord: { record: { summary: 'One case', value: { workspace_id: WORKSPACE_ID, ...record } } },
  createRecordsBulk: {
    records: {
      summary: 'Cases; existing ones are skipped',
      value: { workspace_id: WORKSPACE_ID, on_conflict: 'skip', items: [record] },
    },
  },
  importRecords: {
    version: {
      summary: 'The rows of a CSV version, updating records that already exist',
      value: { workspace_id: WORKSPACE_ID, dataset_version: 2, on_conflict: 'update' },
    },
  },
  createExperiment: {
    experiment: {
      summary: 'A run of a model over a dataset',
      value: {
        workspace_id: WORKSPACE_ID,
        name: 'arithmetic',
        experiment_name: 'gpt-4o, second prompt',
        config: { model: 'gpt-4o', temperature: 0.2 },
        dataset_id: DATASET_ID,
        baseline_experiment_id: EXPERIMENT_ID,
      },
    },
  },
  updateExperiment: {
    note: {
      summary: 'Edit a running experiment',
      value: { description: 'with the second prompt', tags: ['prompt-2'] },
    },
    finalize: {
      summary: 'Finalize the experiment',
      value: {
        experiment_status: 'completed',
        metrics: { cases: 2, successful_cases: 2, failed_cases: 0, duration_ms: 5310 },
      },
    },
  },
  searchExperiments: {
    score: {
      summary: 'Experiments with one model since 2026 whose mean score is at least 0.8',
      value: {
        config: { model: 'gpt-4o' },
        since: '2026-01-01T00:00:00Z',
        score: { scorer: 'exact', gte: 0.8 },
      },
    },
  },
  checkGate: {
    gate: {
      summary: 'No regression from the baseline, and a mean that is confidently high enough',
      value: {
        baseline_experiment_id: EXPERIMENT_ID,
        rules: [
          { scorer: 'exact', max_regression: 0.02, min_count: 100 },
          { scorer: 'tone', min_mean: 0.8, confident: true },
        ],
      },
    },
  },
  createResult: { result: { summary: 'One case', value: { workspace_id: WORKSPACE_ID, ...result } } },
  createResultsBulk: {
    results: { summary: 'Up to 100 cases', value: { workspace_id: WORKSPACE_ID, items: [result] } },
  },
  queryExperimentTraceStats: {
    slow: {
      summary: 'Cost of slow traces, by model',
      value: {
        metrics: [
          { measure: 'count', aggregation: 'count' },
          { measure: 'cost_usd', aggregation: 'sum' },
          { measure: 'duration_ms', aggregation: 'p95' },
        ],
        group_by: ['model'],
        filters: [{ field: 'duration_ms', op: 'gte', value: 2000 }],
      },
    },
  },
  querySpanStats: {
    models: {
      summary: 'Latency, time to the first token and cost of each model',
      value: {
        since: '2026-11-20T00:00:00Z',
        metrics: [
          { measure: 'count', aggregation: 'count' },
          { measure: 'duration_ms', aggregation: 'p95' },
          { measure: 'time_to_first_token_ms', aggregation: 'p50' },
          { measure: 'cost_usd', aggregation: 'sum' },
        ],
        group_by: ['model'],
        filters: [{ field: 'operation', op: 'eq', value: 'chat' }],
      },
    },
  },
  createScorer: {
    javascript: {
      summary: 'JavaScript',
      value: {
        workspace_id: WORKSPACE_ID,
        name: 'same number',
        scorer_kind: 'code',
        definition: {
          language: 'javascript',
          source: 'function score({ output, expected }) { return Number(output) === Number(expected) }',
          timeout_ms: 500,
        },
      },
    },
    checks: {
      summary: 'Checks',
      value: {
        workspace_id: WORKSPACE_ID,
        name: 'polite and cheap',
        scorer_kind: 'code',
        definition: {
          checks: [
            { type: 'contains', path: 'output', value: 'please', case_sensitive: false },
            { type: 'max_cost_usd', max: 0.05 },
          ],
          aggregate: 'mean',
        },
      },
    },
    judge: {
      summary: 'A language model as a judge',
      value: {
        workspace_id: WORKSPACE_ID,
        name: 'answers the question',
        scorer_kind: 'llm_judge',
        definition: {
          backend: 'llm',
          prompt: 'Does this answer the question?\n\nQuestion: {{input}}\n\nAnswer: {{output}}',
          output: { type: 'boolean' },
          reasoning: true,
        },
      },
    },
    people: {
      summary: 'A rubric for people',
      value: {
        workspace_id: WORKSPACE_ID,
        name: 'tone',
        scorer_kind: 'human',
        definition: {
          rubric: 'How does the answer speak to the customer?',
          output: {
            type: 'choice',
            choices: [
              { value: 'kind', score: 1 },
              { value: 'curt', score: 0.5, description: 'Short, and not unkind.' },
              { value: 'rude', score: 0 },
            ],
          },
          min_annotations: 2,
        },
      },
    },
  },
  createScoringRule: {
    sample: {
      summary: '10% of the traces that contain an error',
      value: {
        workspace_id: WORKSPACE_ID,
        sample_rate: 0.1,
        filters: [{ field: 'status', op: 'eq', value: 'error' }],
        quiet_seconds: 120,
      },
    },
  },
  createAnnotationQueue: {
    filters: {
      summary: 'The newest 200 failed traces, each scored by two people',
      value: {
        workspace_id: WORKSPACE_ID,
        name: 'failed answers',
        scorer_ids: [SCORER_ID],
        source: { filters: [{ field: 'status', op: 'eq', value: 'error' }], limit: 200 },
        scores_per_item: 2,
      },
    },
    experiment: {
      summary: 'The results of an experiment, for one person',
      value: {
        workspace_id: WORKSPACE_ID,
        name: 'release 12',
        scorer_ids: [SCORER_ID],
        source: { experiment_id: EXPERIMENT_ID },
        assignees: ['usr_01jd000000000000000000000b'],
        scores_per_item: 1,
      },
    },
  },
  scoreAnnotationItem: {
    choice: {
      summary: 'The scores of one of several people who share an account',
      value: { author: 'ada', scores: [{ scorer_id: SCORER_ID, label: 'kind', comment: 'says sorry' }] },
    },
  },
  createScore: {
    result: {
      summary: 'Thumbs up on a result',
      value: {
        workspace_id: WORKSPACE_ID,
        scorer_id: SCORER_ID,
        result_id: RESULT_ID,
        score: true,
        comment: 'answers what was asked',
      },
    },
    trace: {
      summary: 'Answers to the questions of a rubric, for a trace',
      value: {
        workspace_id: WORKSPACE_ID,
        scorer_id: SCORER_ID,
        trace_id: TRACE_ID,
        answers: { tone: 'kind', correct: true, stars: 4 },
      },
    },
  },
  runScorer: {
    experiment: {
      summary: 'The next 100 results of an experiment that this scorer version has not scored',
      value: { experiment_id: EXPERIMENT_ID, limit: 100, unscored_only: true },
    },
    test: { summary: 'Try it on one trace', value: { mode: 'test', trace_ids: [TRACE_ID] } },
  },
};

/** Descriptions of the tags that group operations. */
export const TAG_DESCRIPTIONS: Record<string, string> = {
  'Annotation queues': 'Traces and results that people score, one at a time.',
  Accounts: "The organization, its users, and the caller's own account.",
  'API proxy': `Calls to registered HTTP APIs with their stored secrets. Method, path, query, body and end-to-end headers are forwarded as sent, except those that are for the service (\`Authorization\`, \`Cookie\`, \`Expect\`, \`X-Service-Workspace-Id\`), that the API registers, or that proxies add.

A response from the API has \`Via\`, and \`agent-registry; received-status=…\` in \`Proxy-Status\` (RFC 9209). A problem from the service has \`agent-registry; error=…\` instead, and no \`Via\`. \`/api/v1/apis/{api_id}\` without a path calls the base URL itself. Each API declares the methods that it allows.`,
  APIs: 'Registered HTTP APIs and their versions.',
  'Agent sessions': 'Conversations with agents, and their messages.',
  Agents: 'Agents and their versions.',
  Apps: 'Declared sets of agents, skills, MCP servers, APIs and files that are managed together.',
  'Audit log': 'Changes and tool calls, with the principals who made them.',
  Comparison: 'Comparison of experiments, gates for CI, and agreement between scorers.',
  'Dataset versions': 'CSV versions of a dataset. An experiment can pin a version.',
  Datasets: 'Named sets of evaluation cases.',
  'Experiment traces': 'The traces linked from the results of an experiment.',
  Erasures: 'Requests to erase the data of a person, a session or a trace, and their receipts.',
  Experiments:
    'Evaluation runs over a set of cases. The results and the summary of a finalized experiment never change.',
  Files: 'Files of any kind and size. Every version is kept.',
  Health: 'Probes for load balancers and orchestrators.',
  Logs: 'Log records, received over OTLP/HTTP.',
  'MCP endpoint':
    'The service as a Model Context Protocol (MCP) server, for agents and their clients. It describes its own tools.',
  'MCP servers': 'Registered Model Context Protocol (MCP) servers, their versions and their tools.',
  Metrics: 'Data points of metrics, received over OTLP/HTTP.',
  'Model gateway':
    'Calls to models by name with the OpenAI and Anthropic APIs: providers, models, keys, budgets and usage.',
  Platform: 'Management of organizations by platform principals.',
  Records: 'The cases of a dataset. Every version is kept.',
  Repositories: 'Registered source code repositories.',
  Results: 'The result of each case of an experiment. Results can change until the experiment is finalized.',
  Scorers: 'Definitions of how to score. Every version is kept.',
  Scores: 'Scores of traces, sessions and results: by scorers, clients, people and end users.',
  Scoring:
    'Runs and batches that score traces, sessions and results, and rules that score new traces and sessions.',
  Search: 'Search over the resources of the registry.',
  'Service accounts': 'Accounts for programs, and their API keys.',
  Sessions: 'Traces grouped by their session id, with totals.',
  Skills: 'Directories with a SKILL.md, in the Agent Skills format. Every version is kept.',
  Telemetry: 'OTLP/HTTP ingestion. A 200 means that the data is stored.',
  Tokens: 'Exchange of API keys for access tokens, token revocation, and the public signing keys.',
  Traces: 'Traces of agent runs, their span trees and spans.',
  Workspaces: 'Workspaces of an organization, and their members.',
  Store: 'Items that organizations publish, and the copies that workspaces acquire.',
};
