import { PlatformIdempotency1795132800100 } from './1795132800100-platform-idempotency';
import { PlatformJobOutbox1795132800150 } from './1795132800150-platform-job-outbox';
import { PlatformTextSearch1795132800180 } from './1795132800180-platform-text-search';
import { RegistryAccounts1795132800200 } from './1795132800200-registry-accounts';
import { EvaluationDatasets1795132800300 } from './1795132800300-evaluation-datasets';
import { EvaluationExperiments1795132800400 } from './1795132800400-evaluation-experiments';
import { TelemetryTraces1795132800500 } from './1795132800500-telemetry-traces';
import { EvaluationScorers1795132800600 } from './1795132800600-evaluation-scorers';
import { EvaluationScoring1795132800700 } from './1795132800700-evaluation-scoring';
import { PlatformIdempotencyHolders1795132800800 } from './1795132800800-platform-idempotency-holders';
import { PlatformSortIndexes1795132800810 } from './1795132800810-platform-sort-indexes';
import { PlatformRowSizes1795132800820 } from './1795132800820-platform-row-sizes';
import { EvaluationRecordSearch1795132800830 } from './1795132800830-evaluation-record-search';
import { RegistryBootstrapReach1795132800840 } from './1795132800840-registry-bootstrap-reach';
import { EvaluationDatasetVersions1795132800900 } from './1795132800900-evaluation-dataset-versions';
import { EvaluationSearch1795132800910 } from './1795132800910-evaluation-search';
import { EvaluationHumanScores1795132800920 } from './1795132800920-evaluation-human-scores';
import { EvaluationAgreement1795132800930 } from './1795132800930-evaluation-agreement';
import { TelemetryTraceModels1795132800940 } from './1795132800940-telemetry-trace-models';
import { EvaluationScoredNames1795132800970 } from './1795132800970-evaluation-scored-names';
import { TelemetryUnpricedCalls1795132800980 } from './1795132800980-telemetry-unpriced-calls';
import { EvaluationRecordTags1795132800990 } from './1795132800990-evaluation-record-tags';
import { EvaluationJudges1795132801000 } from './1795132801000-evaluation-judges';
import { TelemetryArrivals1795132801200 } from './1795132801200-telemetry-arrivals';
import { TelemetryArrivalIndexes1795132801201 } from './1795132801201-telemetry-arrival-indexes';
import { EvaluationScoringRules1795132801210 } from './1795132801210-evaluation-scoring-rules';
import { EvaluationScoringRuleRuns1795132801211 } from './1795132801211-evaluation-scoring-rule-runs';
import { TelemetrySpanPartitions1795132801300 } from './1795132801300-telemetry-span-partitions';
import { TelemetryTraceLists1795132801330 } from './1795132801330-telemetry-trace-lists';
import { TelemetryLogsAndMetrics1795132801360 } from './1795132801360-telemetry-logs-and-metrics';
import { TelemetryTraceSessions1795132801390 } from './1795132801390-telemetry-trace-sessions';
import { RegistryAuditLog1795132801500 } from './1795132801500-registry-audit-log';
import { RegistrySearch1795132801510 } from './1795132801510-registry-search';
import { RegistryRepos1795132801520 } from './1795132801520-registry-repos';
import { Skills1795132801530 } from './1795132801530-skills';
import { McpServers1795132801540 } from './1795132801540-mcp-servers';
import { Agents1795132801550 } from './1795132801550-agents';
import { RegistryApps1795132801570 } from './1795132801570-registry-apps';
import { RegistrySearchWords1795132801590 } from './1795132801590-registry-search-words';
import { RegistrySearchForms1795132801591 } from './1795132801591-registry-search-forms';
import { AgentsToolMessages1795132801600 } from './1795132801600-agents-tool-messages';
import { McpServerSearch1795132801610 } from './1795132801610-mcp-server-search';

/** Every migration, in the one order in which they are run. */
export const MIGRATIONS = [
  PlatformIdempotency1795132800100,
  PlatformJobOutbox1795132800150,
  PlatformTextSearch1795132800180,
  RegistryAccounts1795132800200,
  EvaluationDatasets1795132800300,
  EvaluationExperiments1795132800400,
  TelemetryTraces1795132800500,
  EvaluationScorers1795132800600,
  EvaluationScoring1795132800700,
  PlatformIdempotencyHolders1795132800800,
  PlatformSortIndexes1795132800810,
  PlatformRowSizes1795132800820,
  EvaluationRecordSearch1795132800830,
  RegistryBootstrapReach1795132800840,
  EvaluationDatasetVersions1795132800900,
  EvaluationSearch1795132800910,
  EvaluationHumanScores1795132800920,
  EvaluationAgreement1795132800930,
  TelemetryTraceModels1795132800940,
  EvaluationScoredNames1795132800970,
  TelemetryUnpricedCalls1795132800980,
  EvaluationRecordTags1795132800990,
  EvaluationJudges1795132801000,
  TelemetryArrivals1795132801200,
  TelemetryArrivalIndexes1795132801201,
  EvaluationScoringRules1795132801210,
  EvaluationScoringRuleRuns1795132801211,
  TelemetrySpanPartitions1795132801300,
  TelemetryTraceLists1795132801330,
  TelemetryLogsAndMetrics1795132801360,
  TelemetryTraceSessions1795132801390,
  RegistryAuditLog1795132801500,
  RegistrySearch1795132801510,
  RegistryRepos1795132801520,
  Skills1795132801530,
  McpServers1795132801540,
  Agents1795132801550,
  RegistryApps1795132801570,
  RegistrySearchWords1795132801590,
  RegistrySearchForms1795132801591,
  AgentsToolMessages1795132801600,
  McpServerSearch1795132801610,
];
