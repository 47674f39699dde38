const WORKSPACE_ID = 'wsp_01jd0000000000000000000001';
const DATASET_ID = 'ds_01jd0000000000000000000002';
const RECORD_ID = 'rec_01jd0000000000000000000003';
const EXPERIMENT_ID = 'exp_01jd0000000000000000000004';
const SCORER_ID = 'scr_01jd0000000000000000000005';
const RESULT_ID = 'res_01jd0000000000000000000006';
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

/** Bodies that the operations take, by their `operationId`. */
export const REQUEST_EXAMPLES: Record<string, Record<string, Example>> = {
  app_create: {
    app: {
      summary: 'An app with one server; its secret is set on the server, once it is swept',
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
  server_create: {
    server: {
      summary: 'A server with a secret, and the one tool that it is known to offer',
      value: {
        workspace_id: WORKSPACE_ID,
        name: 'tickets',
        url: 'https://tickets.example.com/mcp',
        auth: { type: 'header', header: 'X-Api-Key', value: 'a-secret' },
        tools: [{ name: 'search', input_schema: { type: 'object' } }],
      },
    },
  },
  dataset_create: {
    dataset: {
      summary: 'A dataset whose records are held to a schema',
      value: {
        workspace_id: WORKSPACE_ID,
        name: 'arithmetic',
        input_schema: { type: 'object', required: ['question'] },
      },
    },
  },
  dataset_search: {
    metadata: {
      summary: 'Those of a team with both tags, by name',
      value: { tags: ['nightly', 'en'], metadata: { team: 'search' }, sort: 'name', limit: 20 },
    },
  },
  datasetVersion_create: {
    csv: {
      summary: 'A file whose ids are in the column case',
      value: {
        workspace_id: WORKSPACE_ID,
        content: 'case,question,answer,level\r\nc1,What is 6 times 7?,42,easy\r\n',
        case_id_column: 'case',
        mapping: { expected: ['answer'], tags: ['level'] },
      },
    },
  },
  record_create: { record: { summary: 'One case', value: { workspace_id: WORKSPACE_ID, ...record } } },
  record_createBulk: {
    records: {
      summary: 'Cases, those that are there already left as they are',
      value: { workspace_id: WORKSPACE_ID, on_conflict: 'skip', items: [record] },
    },
  },
  recordTransfer_import: {
    version: {
      summary: 'The rows of a CSV version; those that are there already get what it says',
      value: { workspace_id: WORKSPACE_ID, dataset_version: 2, on_conflict: 'update' },
    },
  },
  experiment_create: {
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
  experiment_patch: {
    note: { summary: 'While it runs', value: { description: 'with the second prompt', tags: ['prompt-2'] } },
    finalize: {
      summary: 'To finalize it',
      value: {
        experiment_status: 'completed',
        metrics: { cases: 2, successful_cases: 2, failed_cases: 0, duration_ms: 5310 },
      },
    },
  },
  experiment_search: {
    score: {
      summary: 'Runs of a model this year whose mean was at least 0.8',
      value: {
        config: { model: 'gpt-4o' },
        created_after: '2026-01-01T00:00:00Z',
        score: { scorer: 'exact', gte: 0.8 },
      },
    },
  },
  gate_check: {
    gate: {
      summary: 'No worse than its baseline, and good enough for sure',
      value: {
        baseline_experiment_id: EXPERIMENT_ID,
        rules: [
          { scorer: 'exact', max_regression: 0.02, min_count: 100 },
          { scorer: 'tone', min_mean: 0.8, confident: true },
        ],
      },
    },
  },
  result_create: { result: { summary: 'One case', value: { workspace_id: WORKSPACE_ID, ...result } } },
  result_createBulk: {
    results: { summary: 'Up to 100 cases', value: { workspace_id: WORKSPACE_ID, items: [result] } },
  },
  experimentTrace_queryStats: {
    slow: {
      summary: 'What the slow ones cost, by model',
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
  scorer_create: {
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
      summary: 'A question to a language model',
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
      summary: 'A question to people',
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
  scoringRule_create: {
    sample: {
      summary: 'One of ten traces in which something failed',
      value: {
        workspace_id: WORKSPACE_ID,
        sample_rate: 0.1,
        filters: [{ field: 'status', op: 'eq', value: 'error' }],
        quiet_seconds: 120,
      },
    },
  },
  humanScore_create: {
    result: {
      summary: 'Thumbs up for a result',
      value: {
        workspace_id: WORKSPACE_ID,
        scorer_id: SCORER_ID,
        result_id: RESULT_ID,
        value: true,
        comment: 'answers what was asked',
      },
    },
    trace: {
      summary: 'Answers to the questions of a rubric, about a trace',
      value: {
        workspace_id: WORKSPACE_ID,
        scorer_id: SCORER_ID,
        trace_id: TRACE_ID,
        answers: { tone: 'kind', correct: true, stars: 4 },
      },
    },
  },
  scoring_score: {
    experiment: {
      summary: 'The next 100 of an experiment that this version has not scored',
      value: { experiment_id: EXPERIMENT_ID, limit: 100, unscored_only: true },
    },
    test: { summary: 'Try it on one trace', value: { mode: 'test', trace_ids: [TRACE_ID] } },
  },
};

/** What the groups of operations are about. */
export const TAG_DESCRIPTIONS: Record<string, string> = {
  Accounts: 'The organization, its people, and the caller.',
  Apps: 'Agents, skills and MCP servers that belong together, as they are declared.',
  Comparison: 'Experiments held against each other, gates for CI, and how far scorers agree.',
  'Dataset versions': 'CSV files of a dataset, which experiments can pin.',
  Datasets: 'Named sets of cases to evaluate on.',
  'Experiment traces': 'The traces that the results of an experiment name.',
  Experiments: 'Runs of a subject over cases, frozen when they are finalized.',
  'Human scores': 'What people say of traces, sessions and results.',
  Health: 'For load balancers and orchestrators.',
  'MCP servers':
    'Registered servers of the Model Context Protocol, with all their versions, and their tools.',
  Platform: 'Organizations, for platform principals.',
  Records: 'The cases of a dataset, with all their versions.',
  Results: 'What became of each case of an experiment. Append-only.',
  Scorers: 'How answers are scored; every version is kept.',
  Scoring: 'Scoring of traces and sessions by the service, and its runs.',
  'Service accounts': 'Programs that act in an organization, and their API keys.',
  Sessions: 'What belongs together by the session that traces name, with its totals.',
  Skills: 'Directories with a SKILL.md, of the Agent Skills format; every version is kept.',
  Telemetry: 'OTLP/HTTP: 200 means stored.',
  Tokens: 'Exchange of API keys for access tokens, revocation, and the keys that tokens are signed with.',
  Traces: 'What agents did: traces, their trees and their spans.',
  Workspaces: 'Parts of an organization, and who is a member of them.',
};
