import { Platform1795305600000 } from './1795305600000-platform';
import { Resources1795305600100 } from './1795305600100-resources';
import { Registry1795305600200 } from './1795305600200-registry';
import { Skills1795305600300 } from './1795305600300-skills';
import { McpServers1795305600400 } from './1795305600400-mcp-servers';
import { Agents1795305600500 } from './1795305600500-agents';
import { Telemetry1795305600600 } from './1795305600600-telemetry';
import { EvaluationDatasets1795305600700 } from './1795305600700-evaluation-datasets';
import { EvaluationExperiments1795305600800 } from './1795305600800-evaluation-experiments';
import { EvaluationScorers1795305600900 } from './1795305600900-evaluation-scorers';
import { EvaluationScores1795305601000 } from './1795305601000-evaluation-scores';
import { EvaluationJudges1795305601100 } from './1795305601100-evaluation-judges';
import { EvaluationScoring1795305601200 } from './1795305601200-evaluation-scoring';
import { RateLimits1795392000000 } from './1795392000000-rate-limits';
import { PlatformIdempotencyWorkspace1795416707000 } from './1795416707000-platform-idempotency-workspace';
import { TelemetryDroppedCounts1795417700000 } from './1795417700000-telemetry-dropped-counts';
import { PlatformBlobs1795455000000 } from './1795455000000-platform-blobs';
import { AcquiredCopies1795455000100 } from './1795455000100-acquired-copies';
import { AcquiredRecords1795455000150 } from './1795455000150-acquired-records';
import { Files1795455000200 } from './1795455000200-files';
import { Store1795455000300 } from './1795455000300-store';
import { OrgSigningKeys1795455000400 } from './1795455000400-org-signing-keys';
import { McpToolVersions1795456000100 } from './1795456000100-mcp-tool-versions';
import { McpChecks1795456000200 } from './1795456000200-mcp-checks';
import { McpServerOauth1795456000300 } from './1795456000300-mcp-server-oauth';
import { McpEndpoint1795456000400 } from './1795456000400-mcp-endpoint';
import { Apis1795457000000 } from './1795457000000-apis';
import { ModelGateway1795458000000 } from './1795458000000-model-gateway';
import { EvaluationConclusions1795459000000 } from './1795459000000-evaluation-conclusions';
import { TelemetryMessageLogs1795459000100 } from './1795459000100-telemetry-message-logs';
import { JsonNumbers1795459000200 } from './1795459000200-json-numbers';
import { NameFilters1795459200000 } from './1795459200000-name-filters';
import { EvaluationScoresInOneTable1795459300000 } from './1795459300000-evaluation-scores-in-one-table';
import { TelemetryTraceSorts1795459400000 } from './1795459400000-telemetry-trace-sorts';
import { ScoreBatches1795459500000 } from './1795459500000-score-batches';
import { EvaluationAnnotation1795459700000 } from './1795459700000-evaluation-annotation';
import { TelemetryAgentVersions1795459800000 } from './1795459800000-telemetry-agent-versions';
import { EvaluationDatasetMinutes1795460000000 } from './1795460000000-evaluation-dataset-minutes';
import { EvaluationScoreRunWalks1795460000010 } from './1795460000010-evaluation-score-run-walks';
import { AgentsSessionMinutes1795460000020 } from './1795460000020-agents-session-minutes';
import { EvaluationListOrders1795460000030 } from './1795460000030-evaluation-list-orders';
import { RegistryAuditLogOrder1795460000040 } from './1795460000040-registry-audit-log-order';
import { StoreItemListings1795460000050 } from './1795460000050-store-item-listings';
import { RegistrySearchPlans1795460000060 } from './1795460000060-registry-search-plans';
import { AgentsAppOrder1795460000070 } from './1795460000070-agents-app-order';
import { SkillsAppOrder1795460000080 } from './1795460000080-skills-app-order';
import { FilesAppOrder1795460000090 } from './1795460000090-files-app-order';
import { EvaluationRecordWords1795460000100 } from './1795460000100-evaluation-record-words';

/**
 * Every migration, in the order in which they run. The baselines are already applied to existing databases, so never change
 * their schema. To change the schema, add a migration at the end.
 */
export const MIGRATIONS = [
  Platform1795305600000,
  Resources1795305600100,
  Registry1795305600200,
  Skills1795305600300,
  McpServers1795305600400,
  Agents1795305600500,
  Telemetry1795305600600,
  EvaluationDatasets1795305600700,
  EvaluationExperiments1795305600800,
  EvaluationScorers1795305600900,
  EvaluationScores1795305601000,
  EvaluationJudges1795305601100,
  EvaluationScoring1795305601200,
  RateLimits1795392000000,
  PlatformIdempotencyWorkspace1795416707000,
  TelemetryDroppedCounts1795417700000,
  PlatformBlobs1795455000000,
  AcquiredCopies1795455000100,
  AcquiredRecords1795455000150,
  Files1795455000200,
  Store1795455000300,
  OrgSigningKeys1795455000400,
  McpToolVersions1795456000100,
  McpChecks1795456000200,
  McpServerOauth1795456000300,
  McpEndpoint1795456000400,
  Apis1795457000000,
  ModelGateway1795458000000,
  EvaluationConclusions1795459000000,
  TelemetryMessageLogs1795459000100,
  JsonNumbers1795459000200,
  NameFilters1795459200000,
  EvaluationScoresInOneTable1795459300000,
  TelemetryTraceSorts1795459400000,
  ScoreBatches1795459500000,
  EvaluationAnnotation1795459700000,
  TelemetryAgentVersions1795459800000,
  EvaluationDatasetMinutes1795460000000,
  EvaluationScoreRunWalks1795460000010,
  AgentsSessionMinutes1795460000020,
  EvaluationListOrders1795460000030,
  RegistryAuditLogOrder1795460000040,
  StoreItemListings1795460000050,
  RegistrySearchPlans1795460000060,
  AgentsAppOrder1795460000070,
  SkillsAppOrder1795460000080,
  FilesAppOrder1795460000090,
  EvaluationRecordWords1795460000100,
];
