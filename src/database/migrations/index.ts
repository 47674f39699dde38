import type { Migration } from './migration';
import { Platform1795824000000 } from './1795824000000-platform';
import { Resources1795824000001 } from './1795824000001-resources';
import { RegistryAccounts1795824000002 } from './1795824000002-registry-accounts';
import { RegistryApps1795824000003 } from './1795824000003-registry-apps';
import { Files1795824000004 } from './1795824000004-files';
import { Telemetry1795824000005 } from './1795824000005-telemetry';
import { ModelGateway1795824000006 } from './1795824000006-model-gateway';
import { Skills1795824000007 } from './1795824000007-skills';
import { McpServers1795824000008 } from './1795824000008-mcp-servers';
import { Agents1795824000009 } from './1795824000009-agents';
import { EvaluationDatasets1795824000010 } from './1795824000010-evaluation-datasets';
import { EvaluationExperiments1795824000011 } from './1795824000011-evaluation-experiments';
import { EvaluationScorers1795824000012 } from './1795824000012-evaluation-scorers';
import { EvaluationScores1795824000013 } from './1795824000013-evaluation-scores';
import { EvaluationJudges1795824000014 } from './1795824000014-evaluation-judges';
import { EvaluationScoring1795824000015 } from './1795824000015-evaluation-scoring';
import { EvaluationAnnotation1795824000016 } from './1795824000016-evaluation-annotation';
import { Store1795824000017 } from './1795824000017-store';
import { McpEndpoint1795824000018 } from './1795824000018-mcp-endpoint';
import { AWAITED_TRACES } from './1796050000000-awaited-traces';
import { SCORE_ORDERS } from './1796050100000-score-orders';
import { EXPERIMENT_TRIALS } from './1796063800000-experiment-trials';
import { AGENT_CARDS } from './1796063875151-agent-cards';
import { SKILL_ROOT_ARCHIVES } from './1796063875152-skill-root-archives';
import { LABELS } from './1796063952588-labels';

/** Create the schema in an empty database: one for each area or part, from the lowest floor up. */
export const BASELINES = [
  Platform1795824000000,
  Resources1795824000001,
  RegistryAccounts1795824000002,
  RegistryApps1795824000003,
  Files1795824000004,
  Telemetry1795824000005,
  ModelGateway1795824000006,
  Skills1795824000007,
  McpServers1795824000008,
  Agents1795824000009,
  EvaluationDatasets1795824000010,
  EvaluationExperiments1795824000011,
  EvaluationScorers1795824000012,
  EvaluationScores1795824000013,
  EvaluationJudges1795824000014,
  EvaluationScoring1795824000015,
  EvaluationAnnotation1795824000016,
  Store1795824000017,
  McpEndpoint1795824000018,
];

/** The changes since the baselines, in the order in which they run. To change the schema, add a migration at the end. */
export const MIGRATIONS: readonly Migration[] = [
  AWAITED_TRACES,
  SCORE_ORDERS,
  EXPERIMENT_TRIALS,
  AGENT_CARDS,
  SKILL_ROOT_ARCHIVES,
  LABELS,
];
