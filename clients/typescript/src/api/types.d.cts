// Written by `npm run openapi`. Do not edit.
import type { ApiPromise, Pages, Paging, RawBody, RequestOptions } from './calls.cjs';

export type Health = { status: "ok"; };
export type Me = {
  /** Null for platform principals. */
  organization: MeOrg | null;
  roles: ("viewer" | "annotator" | "editor" | "evaluator" | "publisher" | "runtime" | "admin" | "owner")[];
  allow: KeyAllow | null;
  principal: MePrincipal;
  /** Workspaces that are not archived, by name, at most 500. */
  workspaces: MeWorkspace[];
  credential: MeCredential;
};
export type Org = {
  generation: number;
  status: "active" | "suspended";
  metadata: { [key: string]: unknown; };
  name: string;
  /** Labels of versions that only admins may set and delete. */
  protected_labels: string[];
  org_id: string;
  created_at: string;
  updated_at: string;
  created_by: string;
  archived_at: string | null;
};
export type PatchOrg = {
  metadata?: { [key: string]: unknown; } | null;
  name?: string;
  protected_labels?: string[] | null;
  /** Immutable (422 for another value). */
  org_id?: string;
};
export type Erasure = {
  erasure_status: "queued" | "running" | "succeeded";
  counts: { [key: string]: number };
  erasure_id: string;
  subject: ErasureSubject;
  workspace_id: string | null;
  /** Whether it only counts what it would erase. */
  dry_run: boolean;
  /** Why the last attempt failed. */
  last_error: string | null;
  created_at: string;
  updated_at: string;
  /** Who requested it. */
  created_by: string;
  started_at: string | null;
  finished_at: string | null;
};
export type CreateOrg = {
  metadata?: { [key: string]: unknown; } | null;
  name: string;
  /** Labels of versions that only admins may set and delete. */
  protected_labels?: string[] | null;
  /** The `user_id` of the first owner, as their token issuer uses it. */
  owner_user_id?: string;
};
export type PatchAnyOrg = {
  metadata?: { [key: string]: unknown; } | null;
  name?: string;
  protected_labels?: string[] | null;
  /** While `suspended`, the organization's users, keys and tokens are rejected. */
  status?: "active" | "suspended";
  /** Immutable (422 for another value). */
  org_id?: string;
};
export type CreateUser = {
  metadata?: { [key: string]: unknown; } | null;
  display_name?: string | null;
  status?: "active" | "suspended";
  /** Roles in the organization, in addition to the roles in tokens. */
  roles?: ("viewer" | "annotator" | "editor" | "evaluator" | "publisher" | "runtime" | "admin" | "owner")[];
  /** The id that the issuer of the person's tokens uses. */
  user_id: string;
  email?: string | null;
};
export type User = {
  generation: number;
  status: "active" | "suspended";
  roles: Roles;
  metadata: { [key: string]: unknown; };
  user_id: string;
  display_name: string | null;
  email: string | null;
  org_id: string;
  created_at: string;
  updated_at: string;
  created_by: string;
  archived_at: string | null;
};
export type PatchUser = {
  metadata?: { [key: string]: unknown; } | null;
  display_name?: string | null;
  /** While `suspended`, all requests from the person are rejected. */
  status?: "active" | "suspended";
  roles?: RolesOfPatchServiceAccount;
  email?: string | null;
  /** Immutable (422 for another value). */
  user_id?: string;
};
export type CreateWorkspace = {
  metadata?: { [key: string]: unknown; } | null;
  description?: string | null;
  /** Unique among the organization's workspaces that are not archived. */
  name: string;
  /** Rules that mask the texts of telemetry, results and messages before they are stored. */
  masking?: MaskingRule[] | null;
  /** For how many days the workspace keeps its data: at most as long as the installation. */
  retention?: Retention | null;
};
export type Workspace = {
  generation: number;
  metadata: { [key: string]: unknown; };
  masking: MaskingRule[];
  name: string;
  description: string | null;
  retention: Retention;
  workspace_id: string;
  org_id: string;
  created_at: string;
  updated_at: string;
  created_by: string;
  archived_at: string | null;
};
export type PatchWorkspace = {
  metadata?: { [key: string]: unknown; } | null;
  description?: string | null;
  name?: string;
  /** Replaces all rules. */
  masking?: MaskingRule[] | null;
  /** Immutable (422 for another value). */
  workspace_id?: string;
  /** Merged into the current value: at most as long as the installation keeps the data. */
  retention?: Retention | null;
};
export type Member = {
  principal_type: "user" | "service_account";
  roles: Roles;
  workspace_id: string;
  /** `user_id` or `service_account_id`. */
  principal_id: string;
  /** Always null, because members are removed, not archived. */
  archived_at: string | null;
  created_at: string;
  updated_at: string;
  created_by: string;
};
export type PutMember = {
  /** At least one role; replaces the current roles. */
  roles: ("viewer" | "annotator" | "editor" | "evaluator" | "publisher" | "runtime" | "admin" | "owner")[];
};
export type CreateServiceAccount = {
  metadata?: { [key: string]: unknown; } | null;
  description?: string | null;
  /** Unique among the organization's service accounts that are not archived. */
  name: string;
  /** Roles in its workspaces. */
  roles?: ("viewer" | "annotator" | "editor" | "evaluator" | "publisher" | "runtime" | "admin" | "owner")[];
  status?: "active" | "suspended";
  /** The workspaces in which it holds its roles, or `["*"]` for every workspace; you can only grant workspaces that you can access. */
  workspace_ids?: string[];
};
export type ServiceAccount = {
  generation: number;
  status: "active" | "suspended";
  roles: Roles;
  metadata: { [key: string]: unknown; };
  service_account_id: string;
  name: string;
  description: string | null;
  workspace_ids: string[];
  org_id: string;
  created_at: string;
  updated_at: string;
  created_by: string;
  archived_at: string | null;
};
export type PatchServiceAccount = {
  metadata?: { [key: string]: unknown; } | null;
  description?: string | null;
  name?: string;
  roles?: RolesOfPatchServiceAccount;
  /** While `suspended`, its keys and tokens are rejected. */
  status?: "active" | "suspended";
  /** Immutable (422 for another value). */
  service_account_id?: string;
  /** Replaces the current list; `["*"]` means every workspace. */
  workspace_ids?: string[] | null;
};
export type CreateApiKey = {
  /** The purpose of the key. */
  name: string;
  expires_at?: string | null;
  /** Must be null. */
  monthly_budget_usd?: null;
  /** Must be null. */
  requests_per_minute?: null;
  /** Must be null. */
  tokens_per_minute?: null;
  /** What the key allows. */
  allow?: KeyAllowBody | null;
};
export type ApiKey = {
  /** What the key allows. */
  allow: KeyAllow | null;
  monthly_budget_usd: number | null;
  /** Maximum calls to models. */
  requests_per_minute: number | null;
  /** Maximum tokens of calls to models. */
  tokens_per_minute: number | null;
  key_id: string;
  service_account_id: string;
  name: string;
  /** The first characters of the key. */
  prefix: string;
  expires_at: string | null;
  revoked_at: string | null;
  archived_at: string | null;
  created_at: string;
  updated_at: string;
  created_by: string;
};
export type TokenRequest = {
  /** `client_credentials`. */
  grant_type?: string;
  /** Optional. */
  client_id?: string;
  /** The API key. */
  client_secret?: string;
  /** The API key. */
  api_key?: string;
  /** The URL at which the token will be used (RFC 8707). */
  resource?: string;
};
export type Token = {
  token_type: "Bearer";
  /** Seconds until the token expires. */
  expires_in: number;
  access_token: string;
};
export type RevokeToken = {
  /** When the token expires; used only with the `jti` of a token from another issuer. */
  expires_at?: string | null;
  token?: string;
  /** The id of a token of the organization. */
  jti?: string;
  /** The issuer of the token with this `jti`. */
  issuer?: string;
};
export type RevokedToken = {
  issuer: string;
  jti: string;
  /** The time until which the revocation is stored. */
  expires_at: string | null;
};
export type Jwks = { keys: ({ [key: string]: unknown; })[]; };
export type AuthorizationServer = {
  issuer: string;
  authorization_endpoint: string;
  token_endpoint: string;
  jwks_uri: string;
  grant_types_supported: string[];
  token_endpoint_auth_methods_supported: string[];
  /** Empty, because there is no authorization endpoint. */
  response_types_supported: string[];
};
export type CreateSigningKey = {
  /** The purpose of the key. */
  name?: string | null;
};
export type SigningKey = {
  algorithm: "EdDSA";
  /** The key id in signatures and in `/.well-known/jwks.json`. */
  kid: string;
  org_id: string;
  name: string | null;
  public_key: string;
  /** Whether the organization signs with this key. */
  is_current: boolean;
  revoked_at: string | null;
  archived_at: string | null;
  created_at: string;
  updated_at: string;
  created_by: string;
};
export type CreateApp = {
  metadata?: { [key: string]: unknown; } | null;
  description?: string | null;
  /** The slug, which can never change. */
  app: string;
  display_name?: string | null;
  resources: Declaration[];
  workspace_id?: string;
};
export type App = {
  generation: number;
  /** The declarations, with specs as sent. */
  resources: Declaration[];
  resource_count: number;
  metadata: { [key: string]: unknown; };
  sync_state: "pending" | "synced" | "failed";
  /** Null unless the last reconcile failed. */
  sync_error: AppSyncError | null;
  app_id: string;
  app: string;
  display_name: string | null;
  description: string | null;
  /** The time when its last reconcile ended, successful or not. */
  last_reconciled_at: string | null;
  workspace_id: string;
  org_id: string;
  created_at: string;
  updated_at: string;
  created_by: string;
  archived_at: string | null;
};
export type PatchApp = {
  metadata?: { [key: string]: unknown; } | null;
  description?: string | null;
  display_name?: string | null;
  resources?: Declaration[];
  /** Must be the current workspace, because an app cannot be moved (422). */
  workspace_id?: string;
  /** Immutable (422 for another value). */
  app_id?: string;
  /** Immutable (422 for another value). */
  app?: string;
};
export type ReconcileResult = {
  /** Number of the app's resources that are not archived. */
  live_count: number;
  /** The slug. */
  app: string;
};
export type AppPlan = {
  create: PlannedResource[];
  /** Resources that differ from their declaration. */
  update: PlannedResource[];
  archive: PlannedResource[];
  live_count: number;
  /** The slug. */
  app: string;
};
export type CreateApi = {
  metadata?: { [key: string]: unknown; } | null;
  description?: string | null;
  /** The methods that callers may use. */
  allowed_methods?: ("GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS")[] | null;
  /** The time within which the API must respond, in milliseconds (default: `30000`). */
  timeout_ms?: number | null;
  /** Headers to add to every request, by name. */
  headers?: { [key: string]: string } | null;
  /** Whether the path of a request may contain an encoded slash (`%2F`) (default: `false`). */
  allow_encoded_slash?: boolean | null;
  /** Maximum number of requests per minute from all callers together. */
  requests_per_minute?: number | null;
  /** Maximum number of concurrent requests from each process of the service. */
  max_in_flight?: number | null;
  /** Unique among the workspace's APIs that are not archived (409). */
  name: string;
  workspace_id?: string;
  auth?: ApiAuth | null;
  /** An `http` or `https` URL without user, password, query or fragment, whose path has no dot segments or encoded slashes. */
  base_url: string;
};
export type Api = {
  generation: number;
  version_ordinal: number;
  sync_state: "unmanaged" | "pending" | "synced" | "drifted" | "failed";
  allowed_methods: AllowedMethods;
  timeout_ms: number;
  headers: { [key: string]: string };
  requests_per_minute: number | null;
  max_in_flight: number | null;
  metadata: { [key: string]: unknown; };
  api_id: string;
  description: string | null;
  base_url: string;
  auth: StoredApiAuth;
  allow_encoded_slash: boolean;
  /** The app that declares the API, or null. */
  app_id: string | null;
  name: string;
  version_id: string;
  app: string | null;
  acquired_from: AcquiredFrom | null;
  workspace_id: string;
  org_id: string;
  created_at: string;
  updated_at: string;
  created_by: string;
  archived_at: string | null;
};
export type PatchApi = {
  metadata?: { [key: string]: unknown; } | null;
  description?: string | null;
  name?: string;
  /** Replaces the current methods. */
  allowed_methods?: ("GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS")[];
  timeout_ms?: number;
  headers?: { [key: string]: string | null } | null;
  /** Null removes the limit. */
  requests_per_minute?: number | null;
  /** Null removes the limit. */
  max_in_flight?: number | null;
  /** Must be the current workspace, because an API cannot be moved (422). */
  workspace_id?: string;
  /** Immutable (422 for another value). */
  api_id?: string;
  base_url?: string;
  /** Null means the type `none`. */
  auth?: PatchApiAuth | null;
  allow_encoded_slash?: boolean;
};
export type ApiVersion = {
  version_ordinal: number;
  allowed_methods: AllowedMethods;
  timeout_ms: number;
  headers: { [key: string]: string };
  requests_per_minute: number | null;
  max_in_flight: number | null;
  created_at: string;
  created_by: string;
  org_id: string;
  workspace_id: string;
  name: string;
  version_id: string;
  api_id: string;
  description: string | null;
  base_url: string;
  allow_encoded_slash: boolean;
  auth: ApiAuthView;
};
export type CreateRepo = {
  metadata?: { [key: string]: unknown; } | null;
  description?: string | null;
  /** Defaults to the last part of the path. */
  name?: string | null;
  default_branch?: string | null;
  visibility?: "public" | "internal" | "private" | null;
  workspace_id?: string;
  /** An https, http, git or ssh URL, or the scp form (`git@host:path`); a password is removed. */
  url: string;
};
export type Repo = {
  generation: number;
  visibility: "public" | "internal" | "private" | null;
  metadata: { [key: string]: unknown; };
  repo_id: string;
  /** `https://host/path`, whatever form was sent. */
  url: string;
  name: string;
  description: string | null;
  default_branch: string | null;
  workspace_id: string;
  org_id: string;
  created_at: string;
  updated_at: string;
  created_by: string;
  archived_at: string | null;
};
export type PatchRepo = {
  metadata?: { [key: string]: unknown; } | null;
  description?: string | null;
  name?: string;
  default_branch?: string | null;
  visibility?: "public" | "internal" | "private" | null;
  /** Must be the current workspace, because a repository cannot be moved (422). */
  workspace_id?: string;
  /** Immutable (422 for another value). */
  repo_id?: string;
  /** The new URL of the repository, in any form. */
  url?: string;
};
export type AuditEntry = {
  action: "create" | "update" | "archive" | "restore" | "delete" | "revoke" | "reconcile" | "call";
  resource_type: "org" | "user" | "workspace" | "member" | "service_account" | "api_key" | "token" | "signing_key" | "app" | "repo" | "api" | "model_provider" | "model" | "gateway_key" | "model_budget" | "file" | "skill" | "mcp_server" | "tool" | "agent" | "trace" | "dataset" | "dataset_version" | "record" | "experiment" | "result" | "scorer" | "scoring_rule" | "score" | "annotation_queue" | "store_item" | "acquisition" | "erasure";
  audit_entry_id: string;
  org_id: string;
  /** Null for an action on the organization. */
  workspace_id: string | null;
  /** A user, a service account or a platform principal. */
  principal_id: string;
  /** For a member of a workspace, the id of the principal. */
  resource_id: string;
  changes: AuditChange[];
  /** `X-Request-Id` of the request. */
  request_id: string | null;
  created_at: string;
};
export type CreateErasure = {
  subject: ErasureRequestSubject;
  /** The workspace to erase in, required for a `session`. */
  workspace_id?: string;
  /** Whether to only count what would be erased. */
  dry_run?: boolean;
};
export type Search = {
  /** Search by keywords, by embeddings, or by both (default: `hybrid`). */
  mode?: "keyword" | "vector" | "hybrid";
  /** Only resources of these types. */
  types?: ("app" | "agent" | "skill" | "mcp_server" | "tool" | "file" | "repo" | "api" | "store_item")[];
  /** The vector to compare with, instead of the embedding of the query. */
  vector?: number[];
  /** Items per page. */
  limit?: number;
  /** Items to skip (default: `0`). */
  offset?: number;
  /** The words to search for, at most 32; each also matches as a prefix. */
  query?: string;
  /** Only resources of this workspace. */
  workspace_id?: string;
  filters?: SearchFilters;
};
export type SearchPage = {
  items: SearchItem[];
  page: PageMeta;
  vector_unavailable: boolean;
};
export type Usage = {
  file_bytes: ByteUsage;
  spans: SpanUsage;
};
export type TraceDeletion = {
  /** 1 to 1,000 traces. */
  trace_ids?: string[] | null;
  /** Selects the traces that meet all of these conditions. */
  filters?: RuleFilter[] | null;
  since?: string | null;
  until?: string | null;
  workspace_id?: string;
  /** Also deletes traces that an open scoring run, batch or annotation queue uses. */
  force?: boolean | null;
  /** Whether to only count what would be deleted. */
  dry_run?: boolean | null;
};
export type TraceExistenceQuery = {
  /** 1 to 100 traces. */
  trace_ids: string[];
  workspace_id?: string;
};
export type TraceExistence = {
  /** The traces of the workspace that can be read. */
  found: string[];
  missing: string[];
};
export type TelemetryTraceStatsQuery = {
  metrics?: TraceMetric[] | null;
  /** Inclusive lower bound of the start (RFC 3339). */
  since?: string;
  /** Exclusive upper bound of the start (RFC 3339). */
  until?: string;
  /** Without groups, one row covers all traces. */
  group_by?: ("model" | "root_name" | "status" | "service_name" | "agent_version" | "user_id" | "environment" | "tag" | "prompt_name" | "prompt_version" | "session_id" | "hour" | "day")[] | null;
  filters?: TelemetryTraceFilter[] | null;
  workspace_id?: string;
};
export type TelemetryTraceStats = {
  rows: TraceStatsRow[];
  /** The time range of the query, including defaults. */
  since: string;
  until: string;
  is_truncated: boolean;
};
export type SpanStatsQuery = {
  /** By default: count, p50 and p95 of the duration, and sums of tokens, cost and errors. */
  metrics?: SpanMetric[] | null;
  /** Inclusive lower bound of the start of the trace (RFC 3339). */
  since?: string;
  /** Exclusive upper bound of the start of the trace (RFC 3339). */
  until?: string;
  /** Without groups, one row covers all spans. */
  group_by?: ("model" | "operation" | "tool_name" | "provider" | "agent_name" | "status" | "user_id" | "environment" | "hour" | "day")[] | null;
  filters?: SpanFilter[] | null;
  workspace_id?: string;
};
export type ExportTraceResponse = {
  /** Present only if records are invalid or there are warnings. */
  partialSuccess?: ExportTracePartialSuccess;
};
export type ScoredTrace = {
  duration_ms: number;
  span_count: number;
  /** Number of spans with an error. */
  error_count: number;
  input_tokens: number | null;
  output_tokens: number | null;
  cost_usd: number | null;
  masked_count: number;
  /** `error` if at least one span has an error. */
  status: "ok" | "error";
  /** The newest 100 current scores of the trace, newest first. */
  scores: TraceScore[];
  agent_version: string | null;
  /** When the last of its spans ended. */
  ended_at: string;
  /** 32 lower-case hexadecimal digits. */
  trace_id: string;
  root_name: string | null;
  started_at: string;
  models: string[];
  session_id: string | null;
  service_name: string | null;
  user_id: string | null;
  environment: string | null;
  tags: string[];
  prompt_name: string | null;
  prompt_version: string | null;
  input_preview: string | null;
  /** The first 200 characters of the output. */
  output_preview: string | null;
};
export type TraceTree = ScoredTrace & {
  /** Input of the root span; null if it has none. */
  input: unknown;
  /** Output of the root span; null if it has none. */
  output: unknown;
  /** Size of input and output as JSON, in bytes. */
  content_size: number;
  spans: TreeSpan[];
  /** Whether the trace has more spans. */
  is_truncated: boolean;
};
export type TelemetrySpan = Span & {
  input_tokens: number | null;
  output_tokens: number | null;
  cached_input_tokens: number | null;
  cache_write_tokens: number | null;
  reasoning_tokens: number | null;
  time_to_first_token_ms: number | null;
  cost_usd: number | null;
  operation: string | null;
  provider: string | null;
  model: string | null;
  agent_name: string | null;
  tool_name: string | null;
};
export type Session = {
  trace_count: number;
  span_count: number;
  /** Number of spans with an error. */
  error_count: number;
  input_tokens: number | null;
  output_tokens: number | null;
  /** Sum of the known costs of its traces, in US dollars. */
  cost_usd: number | null;
  unpriced_count: number;
  session_id: string;
  /** Start of its first trace. */
  first_started_at: string;
  /** Start of its last trace. */
  last_started_at: string;
  /** Of its last trace that has one, like `environment`. */
  user_id: string | null;
  environment: string | null;
  /** Of its last trace that names a prompt. */
  prompt_name: string | null;
  prompt_version: string | null;
  /** The first 100 tags by name. */
  tags: string[];
  /** The first 200 characters of the input of its first trace. */
  input_preview: string | null;
  /** The first 200 characters of the output of its last trace. */
  output_preview: string | null;
  /** The first 100 models by name. */
  models: string[];
  /** The first 100 services by name. */
  service_names: string[];
  /** Whether the session has more than 10,000 traces. */
  is_truncated: boolean;
};
export type TranscriptItem = {
  kind: "message" | "tool_call";
  /** A text, or the parts of a message that has others than text. */
  content: unknown;
  /** Arguments of the tool call; null if they were not recorded. */
  arguments: unknown;
  result: unknown;
  /** Duration of the model call that answered, or of the tool. */
  duration_ms: number | null;
  input_tokens: number | null;
  output_tokens: number | null;
  /** Cost of the model call that answered, in US dollars. */
  cost_usd: number | null;
  role: string;
  /** The called tool. */
  tool_name: string | null;
  /** Identifies the call, as the model or the agent names it. */
  tool_call_id: string | null;
  error: string | null;
  at: string;
  trace_id: string;
  span_id: string | null;
  /** The model that answered. */
  model: string | null;
  scores: TraceScore[];
  is_truncated: boolean;
};
export type ExportLogsResponse = {
  /** Present only if records are invalid or there are warnings. */
  partialSuccess?: ExportLogsPartialSuccess;
};
export type LogRecord = {
  attributes: { [key: string]: unknown; };
  flags: number;
  resource: SpanResource;
  scope: SpanScope;
  severity_number: number;
  /** Short name of the severity. */
  severity: "unspecified" | "trace" | "trace2" | "trace3" | "trace4" | "debug" | "debug2" | "debug3" | "debug4" | "info" | "info2" | "info3" | "info4" | "warn" | "warn2" | "warn3" | "warn4" | "error" | "error2" | "error3" | "error4" | "fatal" | "fatal2" | "fatal3" | "fatal4";
  /** The body as sent; null if the record has none. */
  body: unknown;
  logged_at: string;
  /** When the event happened; null if the sender sent no time. */
  occurred_at: string | null;
  observed_at: string | null;
  /** The severity as its source names it. */
  severity_text: string | null;
  event_name: string | null;
  /** 32 lower-case hexadecimal digits. */
  trace_id: string | null;
  /** 16 lower-case hexadecimal digits. */
  span_id: string | null;
  service_name: string | null;
};
export type ExportMetricsResponse = {
  /** Present only if records are invalid or there are warnings. */
  partialSuccess?: ExportMetricsPartialSuccess;
};
export type MetricPoint = {
  attributes: { [key: string]: unknown; };
  flags: number;
  resource: SpanResource;
  scope: SpanScope;
  type: "gauge" | "sum" | "histogram" | "exponential_histogram" | "summary";
  /** Null for gauges and summaries. */
  temporality: "unspecified" | "delta" | "cumulative" | null;
  value: unknown;
  exemplars: Exemplar[];
  /** Metadata of the metric. */
  metadata: { [key: string]: unknown; };
  /** Name of the metric. */
  name: string;
  description: string | null;
  unit: string | null;
  /** Null for types other than sum. */
  is_monotonic: boolean | null;
  measured_at: string;
  /** Start of the measured period; null if the sender sent none. */
  started_at: string | null;
  service_name: string | null;
};
export type StoredFile = {
  generation: number;
  version_ordinal: number;
  sync_state: "unmanaged" | "pending" | "synced" | "drifted" | "failed";
  size_bytes: number;
  metadata: { [key: string]: unknown; };
  file_id: string;
  media_type: string;
  sha256: string;
  name: string;
  version_id: string;
  app: string | null;
  acquired_from: AcquiredFrom | null;
  workspace_id: string;
  org_id: string;
  created_at: string;
  updated_at: string;
  created_by: string;
  archived_at: string | null;
};
export type PatchFile = {
  metadata?: { [key: string]: unknown; } | null;
  name?: string;
  /** Must be the current workspace, because a file cannot be moved (422). */
  workspace_id?: string;
  /** Immutable (422 for another value). */
  file_id?: string;
};
export type FileVersion = {
  version_ordinal: number;
  size_bytes: number;
  created_at: string;
  created_by: string;
  org_id: string;
  workspace_id: string;
  name: string;
  version_id: string;
  file_id: string;
  media_type: string;
  sha256: string;
  archived_at: null;
  updated_at: string;
};
export type CreateSkill = {
  description: string;
  license?: string | null;
  compatibility?: string | null;
  allowed_tools?: string[] | null;
  metadata?: { [key: string]: unknown; } | null;
  /** Unique among the workspace's skills that are not archived. */
  name: string;
  workspace_id?: string;
  instructions: string;
  files?: SkillFileInput[] | null;
};
export type Skill = {
  generation: number;
  version_ordinal: number;
  sync_state: "unmanaged" | "pending" | "synced" | "drifted" | "failed";
  labels: { [key: string]: number };
  allowed_tools: string[] | null;
  metadata: { [key: string]: unknown; };
  file_count: number;
  size_bytes: number;
  skill_id: string;
  description: string;
  /** The Markdown after the frontmatter of SKILL.md. */
  instructions: string;
  license: string | null;
  compatibility: string | null;
  source_digest: string;
  name: string;
  version_id: string;
  app: string | null;
  acquired_from: AcquiredFrom | null;
  workspace_id: string;
  org_id: string;
  created_at: string;
  updated_at: string;
  created_by: string;
  archived_at: string | null;
};
export type PatchSkill = {
  description?: string;
  license?: string | null;
  compatibility?: string | null;
  allowed_tools?: string[] | null;
  instructions?: string;
  /** Merged into the current metadata, and written to the YAML of SKILL.md. */
  metadata?: { [key: string]: unknown; } | null;
  /** Must be the current workspace, because a skill cannot be moved (422). */
  workspace_id?: string;
  /** Immutable (422 for another value). */
  skill_id?: string;
  /** Immutable (422 for another value). */
  name?: string;
};
export type SkillIndex = {
  $schema: "https://schemas.agentskills.io/discovery/0.2.0/schema.json";
  /** Sorted by name. */
  skills: SkillIndexEntry[];
};
export type PutLabel = {
  /** The number of a version, another label of the resource, or `latest`. */
  version_ordinal: number | string;
};
export type CreateSkillVersion = {
  description: string;
  license?: string | null;
  compatibility?: string | null;
  allowed_tools?: string[] | null;
  metadata?: { [key: string]: unknown; } | null;
  /** Immutable (422 for another value). */
  workspace_id?: string;
  /** Immutable (422 for another value). */
  name?: string | null;
  instructions: string;
  files?: SkillFileInput[] | null;
};
export type SkillVersionDetail = SkillVersion & {
  /** Sorted by path. */
  files: SkillFile[];
};
export type SkillVersion = {
  version_ordinal: number;
  allowed_tools: string[] | null;
  metadata: { [key: string]: unknown; };
  file_count: number;
  size_bytes: number;
  skill_id: string;
  org_id: string;
  workspace_id: string;
  name: string;
  version_id: string;
  description: string;
  license: string | null;
  compatibility: string | null;
  /** The Markdown after the frontmatter of SKILL.md. */
  instructions: string;
  source_digest: string;
  created_at: string;
  updated_at: string;
  created_by: string;
  archived_at: null;
};
export type CreateAgent = {
  metadata?: { [key: string]: unknown; } | null;
  description?: string | null;
  display_name?: string | null;
  model?: string | null;
  required_permissions?: string[] | null;
  max_step_count?: number | null;
  card?: { [key: string]: unknown; } | null;
  /** Unique among the workspace's agents that are not archived. */
  name: string;
  /** Tools of MCP servers of the workspace. */
  tools?: AgentTool[] | null;
  /** Skills of the workspace. */
  skills?: AgentSkillInput[] | null;
  workspace_id?: string;
  instructions?: string | null;
};
export type Agent = {
  generation: number;
  version_ordinal: number;
  sync_state: "unmanaged" | "pending" | "synced" | "drifted" | "failed";
  labels: { [key: string]: number };
  max_step_count: number;
  metadata: { [key: string]: unknown; };
  card: { [key: string]: unknown; };
  agent_id: string;
  display_name: string | null;
  description: string | null;
  model: string | null;
  instructions: string;
  tools: AgentTool[];
  skills: AgentSkill[];
  required_permissions: string[];
  name: string;
  version_id: string;
  app: string | null;
  acquired_from: AcquiredFrom | null;
  workspace_id: string;
  org_id: string;
  created_at: string;
  updated_at: string;
  created_by: string;
  archived_at: string | null;
};
export type PatchAgent = {
  metadata?: { [key: string]: unknown; } | null;
  description?: string | null;
  display_name?: string | null;
  model?: string | null;
  required_permissions?: string[] | null;
  max_step_count?: number | null;
  card?: { [key: string]: unknown; } | null;
  tools?: AgentTool[] | null;
  skills?: AgentSkillInput[] | null;
  /** Must be the current workspace, because an agent cannot be moved (422). */
  workspace_id?: string;
  /** Immutable (422 for another value). */
  agent_id?: string;
  /** Immutable (422 for another value). */
  name?: string;
  instructions?: string | null;
};
/** An agent card of A2A 1.0. */
export type AgentCard = {
  name: string;
  description: string;
  /** The number of the version of the agent. */
  version: string;
  /** Where the agent can be reached, the preferred address first. */
  supportedInterfaces: ({
  /** An absolute URL, or `host:port` for gRPC. */
  url: string;
  protocolBinding: string;
  /** The version of A2A at this address. */
  protocolVersion: string;
  tenant?: string;
  [key: string]: unknown;
})[];
  provider?: {
  organization: string;
  url: string;
  [key: string]: unknown;
};
  documentationUrl?: string;
  iconUrl?: string;
  capabilities: {
  streaming?: boolean;
  pushNotifications?: boolean;
  extendedAgentCard?: boolean;
  extensions?: ({
  uri: string;
  [key: string]: unknown;
})[];
  [key: string]: unknown;
};
  securitySchemes?: { [key: string]: { [key: string]: unknown; } };
  securityRequirements?: ({ [key: string]: unknown; })[];
  /** Media types that the agent accepts. */
  defaultInputModes: string[];
  /** Media types that the agent returns. */
  defaultOutputModes: string[];
  skills: ({
  id: string;
  name: string;
  description: string;
  tags: string[];
  [key: string]: unknown;
})[];
  [key: string]: unknown;
};
export type AgentVersion = {
  version_ordinal: number;
  max_step_count: number;
  metadata: { [key: string]: unknown; };
  card: { [key: string]: unknown; };
  created_at: string;
  /** The principal that made the change. */
  created_by: string;
  workspace_id: string;
  name: string;
  version_id: string;
  agent_id: string;
  display_name: string | null;
  description: string | null;
  model: string | null;
  instructions: string;
  tools: AgentTool[];
  skills: AgentSkill[];
  required_permissions: string[];
};
export type CreateSession = {
  metadata?: { [key: string]: unknown; } | null;
  title?: string | null;
  /** The version of the agent to pin the session to: its number, a label, or `latest`, which is the default. */
  version_ordinal?: number | string | null;
  /** The first message of the session, with the role `user`. */
  prompt: string;
};
export type AgentSession = {
  generation: number;
  /** The version of the agent that the session is pinned to. */
  version_ordinal: number;
  session_status: "active" | "completed" | "failed";
  message_count: number;
  metadata: { [key: string]: unknown; };
  session_id: string;
  agent_id: string;
  agent_erased?: boolean;
  title: string | null;
  prompt: string;
  last_message_at: string;
  workspace_id: string;
  org_id: string;
  created_at: string;
  updated_at: string;
  created_by: string;
  archived_at: string | null;
};
export type PatchSession = {
  metadata?: { [key: string]: unknown; } | null;
  title?: string | null;
  /** Only an `active` session accepts messages. */
  session_status?: "active" | "completed" | "failed";
  /** Must be the current workspace, because a session cannot be moved (422). */
  workspace_id?: string;
  /** Immutable (422 for another value). */
  session_id?: string;
  agent_id?: string;
  prompt?: string;
};
export type CreateMessage = {
  role: "user" | "assistant" | "system" | "tool";
  /** The content: a string or any other JSON value. */
  content: unknown;
  /** The trace of the turn that the message belongs to. */
  trace_id?: string | null;
  /** The tool calls that the message requests. */
  tool_calls?: unknown[] | null;
  /** For the role `tool`: the id, within `tool_calls`, of the call that this message responds to. */
  tool_call_id?: string | null;
  /** The name of the speaker, such as the tool that responds, or one of several people or agents. */
  name?: string | null;
};
export type Message = {
  /** The position in the session, from 1. */
  ordinal: number;
  role: "user" | "assistant" | "system" | "tool";
  content: unknown;
  tool_calls: unknown[] | null;
  archived_at: null;
  message_id: string;
  session_id: string;
  org_id: string;
  workspace_id: string;
  trace_id: string | null;
  tool_call_id: string | null;
  name: string | null;
  created_at: string;
  updated_at: string;
  created_by: string;
};
export type CreateServer = {
  metadata?: { [key: string]: unknown; } | null;
  description?: string | null;
  /** Default: `streamable_http`. */
  transport?: "streamable_http" | "sse" | null;
  /** The tools of the server, until the server lists its tools itself. */
  tools?: DeclaredTool[] | null;
  /** Unique among the workspace's servers that are not archived (409). */
  name: string;
  workspace_id?: string;
  auth?: ServerAuth | null;
  /** Whether the server belongs to the platform and not to a team; immutable. */
  is_system?: boolean | null;
  /** An `http` or `https` URL without user, password or fragment. */
  url: string;
};
export type Server = {
  generation: number;
  version_ordinal: number;
  sync_state: "unmanaged" | "pending" | "synced" | "drifted" | "failed";
  transport: "streamable_http" | "sse";
  metadata: { [key: string]: unknown; };
  server_id: string;
  description: string | null;
  url: string;
  auth: StoredServerAuth;
  is_system: boolean;
  /** The app that declares the server, or null. */
  app_id: string | null;
  /** When the server last listed its tools, or null. */
  tools_listed_at: string | null;
  health: ServerHealth;
  name: string;
  version_id: string;
  app: string | null;
  acquired_from: AcquiredFrom | null;
  workspace_id: string;
  org_id: string;
  created_at: string;
  updated_at: string;
  created_by: string;
  archived_at: string | null;
};
export type PatchServer = {
  metadata?: { [key: string]: unknown; } | null;
  description?: string | null;
  name?: string;
  transport?: "streamable_http" | "sse";
  /** Replaces the tools; null removes them. */
  tools?: DeclaredTool[] | null;
  /** Must be the current workspace, because a server cannot be moved (422). */
  workspace_id?: string;
  /** Immutable (422 for another value). */
  server_id?: string;
  /** A new URL. */
  url?: string;
  /** Null means the type `none`. */
  auth?: PatchServerAuth | null;
  /** Immutable (422 for another value). */
  is_system?: boolean;
};
export type ServerVersion = {
  version_ordinal: number;
  transport: "streamable_http" | "sse";
  created_at: string;
  created_by: string;
  org_id: string;
  workspace_id: string;
  name: string;
  version_id: string;
  server_id: string;
  description: string | null;
  url: string;
  auth: ServerAuthView;
};
export type ImportServer = {
  /** A `server.json` of the public MCP registry (schema 2025-12-11), or an item of that registry's listing, which wraps it in `server`. */
  server: { [key: string]: unknown; };
  /** The name of the registered server. */
  name?: string | null;
  /** The index of the remote in `remotes` (default: `0`). */
  remote?: number | null;
  /** The values of the variables in the URL and the header of the remote, by name. */
  variables?: { [key: string]: unknown; } | null;
  workspace_id?: string;
  /** With a `type`, it replaces the authentication that the remote declares. */
  auth?: ImportServerAuth | null;
};
export type ServerTest = {
  server_info?: ServerInfo | null;
  /** Milliseconds from connecting until all tools were listed. */
  latency_ms?: number;
  tools?: ToolChanges;
  error?: ServerFailure;
  ok: boolean;
  protocol_version?: string;
};
export type ToolChanges = {
  unchanged_count: number;
  skipped?: SkippedTool[];
  /** New tools, and tools that reappeared. */
  added: string[];
  /** Tools whose digest changed. */
  updated: string[];
  archived: string[];
};
export type ServerCheck = {
  /** The number of the check. */
  check_ordinal: number;
  /** `request` means that `test` or `refresh` was called. */
  trigger: "schedule" | "request";
  latency_ms: number | null;
  server_info: ServerInfo | null;
  error: ServerFailure | null;
  tools: ToolCounts | null;
  /** The first 20 listed tools that were left out. */
  skipped: SkippedTool[] | null;
  server_id: string;
  ok: boolean;
  checked_at: string;
  protocol_version: string | null;
};
export type Tool = {
  generation: number;
  input_schema: { [key: string]: unknown; };
  output_schema: { [key: string]: unknown; } | null;
  annotations: { [key: string]: unknown; } | null;
  version_ordinal: number;
  tool_id: string;
  server_id: string;
  name: string;
  title: string | null;
  description: string | null;
  digest: string;
  version_id: string;
  workspace_id: string;
  org_id: string;
  created_at: string;
  updated_at: string;
  created_by: string;
  archived_at: string | null;
};
export type ToolVersion = {
  input_schema: { [key: string]: unknown; };
  output_schema: { [key: string]: unknown; } | null;
  annotations: { [key: string]: unknown; } | null;
  /** Numbered from 1 without gaps. */
  version_ordinal: number;
  created_at: string;
  created_by: string;
  org_id: string;
  workspace_id: string;
  tool_id: string;
  server_id: string;
  name: string;
  title: string | null;
  description: string | null;
  digest: string;
  version_id: string;
};
export type ToolDiff = {
  tool_id: string;
  from: ComparedToolVersion;
  to: ReviewedToolVersion;
  /** Whether both have the same digest. */
  is_identical: boolean;
  changes: ToolChange[];
};
export type RegistryPage = {
  servers: RegistryEntry[];
  metadata: RegistryPageMeta;
};
export type RegistryEntry = {
  server: RegistryServer;
  _meta: RegistryEntryMeta;
};
export type CreateModelProvider = {
  metadata?: { [key: string]: unknown; } | null;
  description?: string | null;
  /** Unique among the workspace's providers that are not archived (409). */
  name: string;
  /** The API that the server offers. */
  kind: "openai" | "anthropic";
  /** The API key of the provider, if it needs one. */
  api_key?: string | null;
  /** Headers to add to every request, by name. */
  headers?: { [key: string]: string } | null;
  workspace_id?: string;
  /** An `http` or `https` URL without user, password, query or fragment (by default `https://api.openai.com/v1` or `https://api.anthropic.com/v1`), whose address must be public (otherwise calls return 403) unless the operator allows it. */
  base_url?: string | null;
};
export type ModelProvider = {
  generation: number;
  kind: "openai" | "anthropic";
  headers: { [key: string]: string };
  metadata: { [key: string]: unknown; };
  provider_id: string;
  name: string;
  description: string | null;
  base_url: string;
  /** Whether a key is stored. */
  has_api_key: boolean;
  workspace_id: string;
  org_id: string;
  created_at: string;
  updated_at: string;
  created_by: string;
  archived_at: string | null;
};
export type PatchModelProvider = {
  metadata?: { [key: string]: unknown; } | null;
  description?: string | null;
  name?: string;
  /** Immutable (422 for another value). */
  kind?: "openai" | "anthropic";
  /** A new key; if absent, the current key stays, and null removes it. */
  api_key?: string | null;
  headers?: { [key: string]: string | null } | null;
  /** Must be the current workspace, because a provider cannot be moved (422). */
  workspace_id?: string;
  /** Immutable (422 for another value). */
  provider_id?: string;
  base_url?: string;
};
export type CreateModel = {
  metadata?: { [key: string]: unknown; } | null;
  description?: string | null;
  /** The name that clients send as `model`. */
  name: string;
  /** `single` calls the only target; `fallback` calls the first, and the next one if it fails; `weighted` calls a random target, in proportion to the weights, and another one if it fails. */
  strategy?: "single" | "fallback" | "weighted" | null;
  /** The provider models that answer calls. */
  targets: ModelTarget[];
  /** How often a failed call is retried with the same target before the next target is called (default: `2`). */
  retries?: number | null;
  /** Timeout of each attempt in milliseconds: for a whole response, or for the next event of a stream (default: `60000`). */
  timeout_ms?: number | null;
  /** Seconds for which calls avoid a target after three failures in a row. 0 disables this (default: `30`). */
  cooldown_s?: number | null;
  /** Maximum cost of all calls of the model per month (UTC), in US dollars. */
  monthly_budget_usd?: number | null;
  /** How long to reuse a response for the same request, in seconds. */
  cache_ttl_seconds?: number | null;
  /** Whether spans of calls contain the messages (default: `false`). */
  capture_content?: boolean | null;
  /** Whether to record a span for each call (default: `true`). */
  record_spans?: boolean | null;
  workspace_id?: string;
};
export type Model = ListedModel & {
  generation: number;
  strategy: "single" | "fallback" | "weighted";
  retries: number;
  timeout_ms: number;
  cooldown_s: number;
  monthly_budget_usd: number | null;
  cache_ttl_seconds: number | null;
  metadata: { [key: string]: unknown; };
  model_id: string;
  name: string;
  description: string | null;
  targets: ModelTargetView[];
  capture_content: boolean;
  record_spans: boolean;
  created_at: string;
  updated_at: string;
  created_by: string;
  archived_at: string | null;
  org_id: string;
  workspace_id: string;
};
export type ModelPage = {
  object: "list";
  items: Model[];
  page: PageMeta;
  /** The models on this page, one entry per name. */
  data: ListedModel[];
};
export type PatchModel = {
  metadata?: { [key: string]: unknown; } | null;
  description?: string | null;
  name?: string;
  strategy?: "single" | "fallback" | "weighted";
  /** Replaces the current targets. */
  targets?: ModelTarget[];
  retries?: number;
  timeout_ms?: number;
  cooldown_s?: number;
  /** Null removes the budget. */
  monthly_budget_usd?: number | null;
  /** Null disables the cache. */
  cache_ttl_seconds?: number | null;
  /** Must be the current workspace, because a model cannot be moved (422). */
  workspace_id?: string;
  /** Immutable (422 for another value). */
  model_id?: string;
  capture_content?: boolean;
  record_spans?: boolean;
};
export type CreateGatewayKey = {
  models?: (string | {
  model_id: string;
  name?: string;
})[] | null;
  monthly_budget_usd?: number | null;
  requests_per_minute?: number | null;
  tokens_per_minute?: number | null;
  /** The purpose of the key. */
  name: string;
  expires_at?: string | null;
  workspace_id?: string;
};
export type GatewayKey = {
  generation: number;
  /** The models that the key may call and see. */
  models: KeyModel[] | null;
  monthly_budget_usd: number | null;
  requests_per_minute: number | null;
  tokens_per_minute: number | null;
  key_id: string;
  service_account_id: string;
  name: string;
  /** The first characters of the key. */
  prefix: string;
  expires_at: string | null;
  revoked_at: string | null;
  archived_at: string | null;
  workspace_id: string;
  org_id: string;
  created_at: string;
  updated_at: string;
  created_by: string;
};
export type CurrentGatewayKey = GatewayKey & {
  month: string;
  spent_usd: number;
  remaining_usd: number | null;
};
export type PatchGatewayKey = {
  models?: (string | {
  model_id: string;
  name?: string;
})[] | null;
  monthly_budget_usd?: number | null;
  requests_per_minute?: number | null;
  tokens_per_minute?: number | null;
  /** A new name also renames the service account. */
  name?: string;
  /** Immutable (422 for another value). */
  expires_at?: string | null;
  /** Must be the current workspace, because a key cannot be moved (422). */
  workspace_id?: string;
  /** Immutable (422 for another value). */
  key_id?: string;
  /** Immutable (422 for another value). */
  service_account_id?: string;
};
export type ModelBudget = {
  month: string;
  spent_usd: number;
  remaining_usd: number | null;
  /** Null if there is no budget. */
  monthly_budget_usd: number | null;
  workspace_id: string;
};
export type PutModelBudget = {
  /** Maximum cost of all model calls in the workspace per month (UTC), in US dollars. */
  monthly_budget_usd: number | null;
};
export type ModelUsage = ModelUsageTotal & {
  /** The day in UTC. */
  day?: string;
  /** The name of the model. */
  model?: string | null;
  principal?: string | null;
  /** Null for cached responses. */
  provider_id?: string | null;
  /** The name of the model at the provider. */
  upstream_model?: string | null;
  workspace_id?: string;
  model_id?: string;
  principal_id?: string;
};
export type ModelUsagePage = {
  items: ModelUsage[];
  /** The totals of all groups, on all pages. */
  total: ModelUsageTotal;
  page: PageMeta;
};
export type CreateDataset = {
  description?: string | null;
  tags?: string[] | null;
  metadata?: { [key: string]: unknown; } | null;
  /** JSON Schema 2020-12 that the `input` of every record must meet. */
  input_schema?: { [key: string]: unknown; } | null;
  /** JSON Schema 2020-12 that the `expected` of every record must meet. */
  expected_schema?: { [key: string]: unknown; } | null;
  workspace_id?: string;
  /** Unique among the workspace's datasets that are not archived. */
  name: string;
};
export type Dataset = {
  metadata: { [key: string]: unknown; };
  input_schema: { [key: string]: unknown; } | null;
  expected_schema: { [key: string]: unknown; } | null;
  /** Records that are not archived. */
  record_count: number;
  /** Number of rows of the newest CSV version. */
  row_count: number | null;
  /** Number of the newest CSV version. */
  latest_version: number | null;
  baselines: { [key: string]: string };
  dataset_id: string;
  workspace_id: string;
  name: string;
  description: string | null;
  tags: string[];
  acquired_from: AcquiredFrom | null;
  created_at: string;
  updated_at: string;
  created_by: string;
  archived_at: string | null;
};
export type DatasetSearch = {
  limit?: number;
  offset?: number;
  total?: boolean;
  sort?: Sort;
  since?: string;
  until?: string;
  /** Datasets with all of these tags. */
  tags?: string[];
  metadata?: { [key: string]: unknown; };
  workspace_id?: string;
  /** Words or word prefixes in the name or description. */
  q?: string;
  /** The exact name. */
  name?: string;
  /** Datasets with this tag. */
  tag?: string;
  include_archived?: boolean;
  cursor?: string;
};
export type DatasetPage = {
  items: Dataset[];
  page: PageMeta;
};
export type PatchDataset = {
  description?: string | null;
  tags?: string[] | null;
  metadata?: { [key: string]: unknown; } | null;
  /** Applies to records written from now on. */
  input_schema?: { [key: string]: unknown; } | null;
  /** Applies to records written from now on. */
  expected_schema?: { [key: string]: unknown; } | null;
  /** Promoted experiments: maps the name of an evaluation to the id of its completed experiment over this dataset. */
  baselines?: { [key: string]: string | null } | null;
  /** Must be the current workspace, because a dataset cannot be moved (422). */
  workspace_id?: string;
  /** Immutable (422 for another value). */
  dataset_id?: string;
  name?: string;
};
export type CreateDatasetVersion = {
  /** Maps columns to the parts of a case. */
  mapping?: CsvMapping | null;
  workspace_id?: string;
  /** The content of the file. */
  content: string;
  /** The column of the case ids. */
  case_id_column?: string | null;
};
export type DatasetVersion = {
  version: number;
  row_count: number;
  column_count: number;
  size_bytes: number;
  /** Always null: versions cannot be archived. */
  archived_at: null;
  dataset_id: string;
  workspace_id: string;
  version_id: string;
  /** In the order of the file. */
  columns: string[];
  /** SHA-256 of the bytes, in hexadecimal. */
  sha256: string;
  /** Null if row numbers are the case ids. */
  case_id_column: string | null;
  mapping: DatasetVersionMapping;
  value_columns: string[];
  created_at: string;
  updated_at: string;
  created_by: string;
};
export type DatasetVersionPreview = {
  /** The first five cases, or fewer if they are large. */
  cases: DatasetCase[];
  row_count: number;
  /** In the order of the file. */
  columns: DatasetColumn[];
  warnings: DatasetWarning[];
};
export type DatasetCase = {
  case_id: string;
  input: unknown;
  /** Like `input`, for the columns of `expected`. */
  expected: unknown;
  metadata: { [key: string]: unknown; };
  tags: string[];
};
export type ImportVersion = {
  /** The number of the version. */
  dataset_version: number;
  /** How to handle a record whose `external_id` another record of the dataset already has, unless that record is archived: `error` returns 409 and imports nothing, `skip` leaves the existing record unchanged, and `update` gives it a new version with exactly the imported content (default: `error`). */
  on_conflict?: "error" | "skip" | "update" | null;
  /** How CSV cells become values: `auto` reads a cell that begins with `{` or `[` and is valid JSON as JSON, and any other cell as text; `text` reads every cell as text; `json` requires a file in the form of an export with `cells=json` (default: `auto`). */
  cells?: "auto" | "text" | "json" | null;
  workspace_id?: string;
};
export type RecordImport = {
  created_count: number;
  /** Existing records that got a new version. */
  updated_count: number;
  /** Existing records that already had the imported content. */
  unchanged_count: number;
  skipped_count: number;
};
export type CreateRecord = {
  expected?: unknown;
  tags?: string[] | null;
  input: unknown;
  metadata?: { [key: string]: unknown; } | null;
  source_kind?: "manual" | "session" | "trace" | "external" | null;
  workspace_id?: string;
  label?: string | null;
  category?: string | null;
  source_ref?: string | null;
  external_id?: string | null;
};
export type DatasetRecord = RecordVersion & {
  updated_at: string;
  archived_at: string | null;
};
export type BulkRecords = {
  /** How to handle an item whose `external_id` a record already has, unless that record is archived: `error` returns 409, `skip` leaves the existing record unchanged, and `update` gives it a new version with exactly the item's content (default: `error`). */
  on_conflict?: "error" | "skip" | "update" | null;
  /** 1 to 100 records. */
  items: RecordFields[];
  workspace_id?: string;
};
export type BulkRecordsResponse = { items: BulkRecordItem[]; };
export type RecordsFromTraces = {
  /** 1 to 100 stored traces. */
  trace_ids?: string[] | null;
  /** Selects the traces that meet all of these conditions, newest first. */
  filters?: RuleFilter[] | null;
  since?: string | null;
  until?: string | null;
  /** Takes only the newest traces of the selection, at most 100. */
  limit?: number | null;
  /** `output` takes the output of the trace as the expected answer. */
  expected?: "output" | null;
  /** Tags of every record. */
  tags?: string[] | null;
  /** How to handle a trace whose id is the `external_id` of a record that is not archived, such as one from an earlier request: `error` returns 409, and `skip` leaves the existing record unchanged (default: `error`). */
  on_conflict?: "error" | "skip" | null;
  workspace_id?: string;
};
export type RecordsFromTracesResponse = { items: RecordFromTrace[]; };
export type PatchRecord = {
  expected?: unknown;
  tags?: string[] | null;
  input?: unknown;
  metadata?: { [key: string]: unknown; } | null;
  source_kind?: "manual" | "session" | "trace" | "external";
  /** Must be the current workspace (422). */
  workspace_id?: string;
  /** Immutable (422 for another value). */
  dataset_id?: string;
  /** Immutable (422 for another value). */
  dataset_record_id?: string;
  label?: string | null;
  category?: string | null;
  source_ref?: string | null;
  external_id?: string | null;
};
export type RecordVersion = {
  version: number;
  input: unknown;
  expected: unknown;
  metadata: { [key: string]: unknown; };
  source_kind: "manual" | "session" | "trace" | "external";
  dataset_record_id: string;
  dataset_id: string;
  workspace_id: string;
  version_id: string;
  tags: string[];
  label: string | null;
  category: string | null;
  source_ref: string | null;
  external_id: string | null;
  created_at: string;
  created_by: string;
};
export type CreateExperiment = {
  description?: string | null;
  subject_kind?: "agent" | "harness" | "skill" | null;
  context_manifest?: unknown;
  tags?: string[] | null;
  /** Free-form. */
  config?: { [key: string]: unknown; } | null;
  /** Pins a CSV version of the dataset; required if the cases of the dataset are all in CSV versions. */
  dataset_version?: number | null;
  /** How often each case is run. */
  trials?: number | null;
  metadata?: { [key: string]: unknown; } | null;
  workspace_id?: string;
  /** The stable name of the evaluation. */
  name: string;
  /** The name of this experiment. */
  experiment_name?: string | null;
  dataset_id?: string | null;
  /** Restricts the experiment to part of the dataset. */
  dataset_filter?: DatasetFilter | null;
  /** Your own key for the experiment, such as a commit id, unique among the experiments with the same `name` and `experiment_name` that are neither failed nor archived. */
  run_key?: string | null;
  /** Returns an existing experiment (200) instead of creating one (201): the running or completed one with this `run_key`, or without a key the running one with the same `name`, `experiment_name` and dataset. */
  resume?: boolean | null;
  baseline_experiment_id?: string | null;
  subject_id?: string | null;
};
export type Experiment = {
  config: { [key: string]: unknown; };
  dataset_version: number | null;
  subject_kind: "agent" | "harness" | "skill" | null;
  context_manifest: unknown;
  experiment_status: "running" | "completed" | "failed";
  dataset_filter: DatasetFilter | null;
  expected_case_count: number | null;
  /** How often each case is run. */
  trials: number;
  expected_result_count: number | null;
  current_scores?: { [key: string]: ScoreSummary };
  late_count?: number;
  error: unknown;
  metadata: { [key: string]: unknown; };
  experiment_id: string;
  workspace_id: string;
  name: string;
  experiment_name: string;
  description: string | null;
  dataset_id: string | null;
  dataset_erased: boolean;
  baseline_experiment_id: string | null;
  /** Whether the baseline was deleted. */
  baseline_erased: boolean;
  subject_id: string | null;
  run_key: string | null;
  summary: ExperimentSummary | null;
  dataset_snapshot: DatasetSnapshot | null;
  tags: string[];
  finalized_at: string | null;
  created_at: string;
  updated_at: string;
  created_by: string;
  archived_at: string | null;
};
export type ExperimentSearch = {
  limit?: number;
  offset?: number;
  total?: boolean;
  sort?: Sort;
  since?: string;
  until?: string;
  subject_kind?: "agent" | "harness" | "skill";
  experiment_status?: "running" | "completed" | "failed";
  /** Scalars that the config must contain: `["key:value"]` as in the list, or `{"key": value}`. */
  config?: string[] | { [key: string]: string | number | boolean | null };
  /** Experiments with all of these tags. */
  tags?: string[];
  metadata?: { [key: string]: unknown; };
  workspace_id?: string;
  /** Finalized experiments whose summary has a mean of this scorer, within the bounds. */
  score?: ScoreRange;
  dataset_id?: string;
  subject_id?: string;
  baseline_experiment_id?: string;
  /** The exact name of the evaluation. */
  name?: string;
  run_key?: string;
  tag?: string;
  /** Words or word prefixes in the names or description. */
  q?: string;
  include_archived?: boolean;
  cursor?: string;
};
export type ExperimentPage = {
  items: Experiment[];
  page: PageMeta;
};
export type PatchExperiment = {
  description?: string | null;
  subject_kind?: "agent" | "harness" | "skill" | null;
  context_manifest?: unknown;
  tags?: string[] | null;
  config?: { [key: string]: unknown; } | null;
  /** Immutable (422 for another value). */
  dataset_version?: number | null;
  /** Immutable (422 for another value). */
  trials?: number | null;
  metadata?: { [key: string]: unknown; } | null;
  metrics?: { [key: string]: unknown; } | null;
  /** `completed` or `failed` finalizes the experiment and computes its summary. */
  experiment_status?: "running" | "completed" | "failed";
  /** Why the experiment failed. */
  error?: unknown;
  /** Must be the current workspace, because an experiment cannot be moved (422). */
  workspace_id?: string;
  /** Immutable (422 for another value). */
  experiment_id?: string;
  name?: string;
  experiment_name?: string;
  /** Immutable (422 for another value). */
  dataset_id?: string | null;
  /** Immutable (422 for another value). */
  dataset_filter?: DatasetFilter | null;
  /** Immutable (422 for another value). */
  run_key?: string | null;
  summary?: SummaryPatch | null;
  baseline_experiment_id?: string | null;
  subject_id?: string | null;
};
export type ExperimentCase = {
  /** The version of the record when the experiment was created. */
  dataset_record_version: number | null;
  input: unknown;
  expected: unknown;
  metadata: { [key: string]: unknown; };
  state: "pending" | "failed" | "done";
  /** The results of the case, oldest first. */
  result_ids: string[];
  /** The trials without a result, counted from 1. */
  missing_trials: number[];
  /** The trials whose result has an `error`. */
  failed_trials: number[];
  case_id: string;
  /** Null for a CSV version. */
  dataset_record_id: string | null;
  tags: string[];
};
export type Comparison = {
  scorer_count: number;
  candidate: ComparedExperiment;
  baseline: ComparedExperiment;
  is_truncated: boolean;
  totals: ComparisonTotals;
  scorers: ScorerComparison[] | null;
  /** Duration, tokens and cost. */
  measures: ComparedMeasures | null;
  cases: ComparedCasePage;
};
export type Agreement = {
  /** The requested version of the scorer; null for any version. */
  scorer_version: number | null;
  reference_scorer_version: number | null;
  /** Number of units of which both scored the same target. */
  units: number;
  tie_count: number;
  /** Number of people, including those that `people` omits. */
  people_count: number;
  scorer: AgreeingScorer;
  reference: AgreeingScorer;
  experiment_id: string | null;
  /** Whether older scores may exist that were not read. */
  is_truncated: boolean;
  confusion: Confusion | null;
  /** Share of units on which both agree. */
  observed_agreement: Measure | null;
  /** Cohen 1960: agreement beyond chance, from -1 to 1. */
  cohens_kappa: Measure | null;
  weighted_kappa: Measure | null;
  /** Krippendorff's alpha for categories. */
  krippendorffs_alpha_nominal: Measure | null;
  krippendorffs_alpha_interval: Measure | null;
  /** Mean absolute difference, on the scale of the scores. */
  mean_absolute_error: Measure | null;
  mean_kappa: number | null;
  people: PersonAgreement[];
};
export type Gate = {
  /** 1 to 100 rules. */
  rules: GateRule[];
  /** The completed experiment to compare with; by default, the experiment's own baseline, else the promoted baseline of its dataset for experiments of this name. */
  baseline_experiment_id?: string | null;
  /** Fails the checks that need a baseline if there is none, instead of skipping them. */
  require_baseline?: boolean | null;
  /** Compares even if the scorers, their versions or the judges differ, instead of failing the check. */
  allow_version_mismatch?: boolean | null;
  /** The lowest share of comparable cases: of the cases of both experiments, those whose `input` and `expected` have not changed; and of the cases with scores on both sides, those that the same judge scored. */
  min_comparable?: number | null;
  workspace_id?: string;
};
export type GateResult = {
  /** The result may change while the experiment is running. */
  experiment_status: "running" | "completed" | "failed";
  /** True if no check failed. */
  passed: boolean;
  experiment_id: string;
  name: string;
  experiment_name: string;
  /** Null without a baseline. */
  baseline_experiment_id: string | null;
  /** Whether an experiment has more than 10,000 results. */
  is_truncated: boolean;
  coverage: Coverage;
  /** Coverage of the baseline. */
  baseline_coverage: Coverage | null;
  /** One check per bound, in the order of the rules. */
  checks: GateCheck[];
};
export type KeptGate = {
  gate_check_id: string;
  experiment_id: string;
  workspace_id: string;
  passed: boolean;
  request: Gate;
  result: GateResult;
  created_at: string;
  /** Who made the check. */
  created_by: string;
};
export type CreateResult = {
  input?: unknown;
  expected?: unknown;
  metadata?: { [key: string]: unknown; } | null;
  tags?: string[] | null;
  output?: unknown;
  error?: unknown;
  scores?: Scores;
  trace_id?: string | null;
  trial_index?: number | null;
  on_conflict?: "error" | "skip" | "replace" | null;
  workspace_id?: string;
  case_id: string;
  dataset_record_id?: string | null;
  session_id?: string | null;
  duration_ms?: number | null;
  trial_group?: string | null;
};
export type Result = {
  input: unknown;
  expected: unknown;
  metadata: { [key: string]: unknown; };
  dataset_record_version: number | null;
  output: unknown;
  error: unknown;
  scores: { [key: string]: number | null };
  score_details: { [key: string]: ScoreDetail };
  trial_index: number | null;
  version: number;
  /** Always null: results cannot be archived. */
  archived_at: null;
  result_id: string;
  experiment_id: string;
  workspace_id: string;
  case_id: string;
  tags: string[];
  dataset_record_id: string | null;
  trace_id: string | null;
  session_id: string | null;
  duration_ms: number | null;
  trial_group: string | null;
  erased: boolean;
  created_at: string;
  updated_at: string;
  created_by: string;
};
export type BulkResults = {
  on_conflict?: "error" | "skip" | "replace" | null;
  /** 1 to 100 results. */
  items: ResultFields[];
  workspace_id?: string;
};
export type BulkResultsResponse = { items: BulkResultItem[]; };
export type PatchResult = {
  scores?: Scores;
  /** Replaces all tags. */
  tags?: string[] | null;
  metadata?: { [key: string]: unknown; } | null;
  /** The version of the result that the scores were computed for. 409 if the result has been replaced since. */
  version?: number;
  /** Immutable (422 for another value). */
  result_id?: unknown;
  /** Immutable (422 for another value). */
  experiment_id?: unknown;
  /** Immutable (422 for another value). */
  workspace_id?: unknown;
  /** Immutable (422 for another value). */
  case_id?: unknown;
  /** Immutable (422 for another value). */
  input?: unknown;
  /** Immutable (422 for another value). */
  expected?: unknown;
  /** Immutable (422 for another value). */
  output?: unknown;
  /** Immutable (422 for another value). */
  error?: unknown;
  /** Immutable (422 for another value). */
  dataset_record_id?: unknown;
  /** Immutable (422 for another value). */
  trace_id?: unknown;
  /** Immutable (422 for another value). */
  session_id?: unknown;
  /** Immutable (422 for another value). */
  duration_ms?: unknown;
  /** Immutable (422 for another value). */
  trial_group?: unknown;
  /** Immutable (422 for another value). */
  trial_index?: unknown;
};
export type ExperimentTrace = {
  duration_ms: number;
  span_count: number;
  /** Number of spans with an error. */
  error_count: number;
  input_tokens: number | null;
  output_tokens: number | null;
  cost_usd: number | null;
  result_id: string | null;
  case_id: string | null;
  /** 32 lower-case hexadecimal digits. */
  trace_id: string;
  root_name: string | null;
  started_at: string;
  models: string[];
  session_id: string | null;
  service_name: string | null;
  user_id: string | null;
  environment: string | null;
  tags: string[];
  prompt_name: string | null;
  prompt_version: string | null;
  input_preview: string | null;
  /** The first 200 characters of the output. */
  output_preview: string | null;
};
export type Span = {
  kind: KindOfSpan;
  duration_ms: number;
  dropped_attributes_count: number;
  /** Number of dropped events. */
  dropped_events_count: number;
  /** Number of dropped links. */
  dropped_links_count: number;
  attributes: { [key: string]: unknown; };
  events: SpanEvent[];
  links: SpanLink[];
  resource: SpanResource;
  scope: SpanScope;
  /** 16 lower-case hexadecimal digits. */
  span_id: string;
  /** Null for a root. */
  parent_span_id: string | null;
  name: string;
  status: SpanStatus;
  started_at: string;
  ended_at: string;
  start_unknown: boolean;
};
export type TraceStatsQuery = {
  metrics?: TraceMetric[] | null;
  /** If absent or empty, the statistics have one row for all traces. */
  group_by?: ("model" | "root_name" | "status" | "service_name" | "agent_version" | "case_id" | "tag" | "user_id" | "environment" | "prompt_name" | "prompt_version")[] | null;
  filters?: TraceFilter[] | null;
  workspace_id?: string;
};
export type TraceStats = {
  rows: TraceStatsRow[];
  coverage: TraceCoverage;
  /** Whether `rows` was truncated, at 10,000 groups or 32 MiB. */
  is_truncated: boolean;
};
export type CaseTrials = {
  /** Number of trials with a score or an error. */
  n: number;
  passed: number;
  case_id: string;
  /** Mean of the scores; null without scores. */
  mean: number | null;
};
export type ExperimentTrialPage = {
  items: CaseTrials[];
  page: PageMeta;
  summary: PassSummary;
};
export type CreateCodeScorer = {
  /** Cannot be changed later. */
  scorer_kind: "code";
  grain?: "trace" | "session" | null;
  /** Depends on the kind: a script or checks for `code`, a question to a language model or a classifier for `llm_judge`, and a question to people for `human`. */
  definition: ScriptDefinition | ChecksDefinition;
  tags?: string[] | null;
  metadata?: { [key: string]: unknown; } | null;
  workspace_id?: string;
  name: string;
  description?: string | null;
};
export type CreateLlmJudgeScorer = {
  /** Cannot be changed later. */
  scorer_kind: "llm_judge";
  grain?: "trace" | "session" | null;
  /** Depends on the kind: a script or checks for `code`, a question to a language model or a classifier for `llm_judge`, and a question to people for `human`. */
  definition: LlmDefinition | ClassifierDefinition;
  tags?: string[] | null;
  metadata?: { [key: string]: unknown; } | null;
  workspace_id?: string;
  name: string;
  description?: string | null;
};
export type CreateHumanScorer = {
  /** Cannot be changed later. */
  scorer_kind: "human";
  grain?: "trace" | "session" | null;
  /** Depends on the kind: a script or checks for `code`, a question to a language model or a classifier for `llm_judge`, and a question to people for `human`. */
  definition: HumanDefinition;
  tags?: string[] | null;
  metadata?: { [key: string]: unknown; } | null;
  workspace_id?: string;
  name: string;
  description?: string | null;
};
export type Scorer = ScorerVersion & {
  metadata: { [key: string]: unknown; };
  name: string;
  description: string | null;
  tags: string[];
  updated_at: string;
  archived_at: string | null;
  /** The store item and release that the scorer is a copy of. */
  acquired_from: AcquiredFrom | null;
};
export type PatchScorer = {
  /** Immutable (422 for another value). */
  scorer_kind?: "code" | "llm_judge" | "human";
  grain?: "trace" | "session";
  /** The complete new definition, which depends on the kind: a script or checks for `code`, a question to a language model or a classifier for `llm_judge`, and a question to people for `human`. */
  definition?: ScriptDefinition | ChecksDefinition | LlmDefinition | ClassifierDefinition | HumanDefinition;
  tags?: string[] | null;
  metadata?: { [key: string]: unknown; } | null;
  /** Must be the current workspace, because a scorer cannot be moved (422). */
  workspace_id?: string;
  /** Immutable (422 for another value). */
  scorer_id?: string;
  name?: string;
  description?: string | null;
};
export type ScorerVersion = {
  /** Rises only when `definition` or `grain` changes. */
  scorer_version: number;
  scorer_kind: "code" | "llm_judge" | "human";
  grain: "trace" | "session";
  /** Exactly as it was sent. */
  definition: ScriptDefinition | ChecksDefinition | LlmDefinition | ClassifierDefinition | HumanDefinition;
  scorer_id: string;
  workspace_id: string;
  version_id: string;
  created_at: string;
  created_by: string;
};
export type ScorerStarter = {
  scorer_kind: "code" | "llm_judge" | "human";
  grain: "trace" | "session";
  /** A definition that `POST /eval/v1/scorers` accepts. */
  definition: { [key: string]: unknown; };
  /** The permanent name of the starter. */
  starter_id: string;
  name: string;
  description: string;
  tags: string[];
  /** An example that passes. */
  example: StarterExample;
  /** An example that fails. */
  failing_example: StarterExample;
};
export type ScoringRequest = {
  grain?: "trace" | "session" | null;
  concurrency?: number | null;
  filters?: RuleFilter[] | null;
  trace_ids?: string[] | null;
  since?: string | null;
  until?: string | null;
  cache?: boolean | null;
  /** `score` queues a run, `test` scores up to 5 targets and returns the results, and `preview` returns, for up to 5 targets, what would be run or sent to the judge. */
  mode?: "score" | "preview" | "test" | null;
  /** Scores only the newest targets (of an experiment, its newest results), at most 100, or 5 in `preview` and `test`. */
  limit?: number | null;
  /** Limit for the cost of the judge, in US dollars; at the limit, the run fails with `budget_exceeded`, and targets that were not scored get an error. */
  max_cost_usd?: number | null;
  agent_ids?: string[] | null;
  experiment_id?: string | null;
  session_ids?: string[] | null;
  unscored_only?: boolean | null;
  workspace_id?: string;
};
export type SynchronousScores = {
  grain: "trace" | "session";
  mode: "score" | "preview" | "test";
  scorer_version: number;
  results: ScoringResult[];
  scorer_id: string;
};
export type QueuedRun = {
  concurrency: number;
  grain: "trace" | "session";
  /** Always `queued`. */
  run_status: "queued" | "running" | "succeeded" | "failed";
  scorer_version: number;
  /** Number of targets. 0 if nothing matches. */
  total: number;
  score_run_id: string;
  scorer_id: string;
};
export type ScoreRun = {
  scorer_version: number;
  grain: "trace" | "session";
  total: number;
  /** Number of targets without an error. */
  completed_count: number;
  /** Number of targets with an error. */
  failed_count: number;
  not_written_back_count: number;
  truncated_count: number;
  too_large_count: number;
  concurrency: number;
  failure_code: FailureCode;
  /** Always null, because it cannot be archived. */
  archived_at: null;
  /** `queued`, then `running`, then `succeeded` or `failed`. */
  run_status: "queued" | "running" | "succeeded" | "failed";
  score_run_id: string;
  /** The rule that started the run; null for any other run. */
  rule_id: string | null;
  score_batch_id: string | null;
  workspace_id: string;
  scorer_id: string;
  /** Whether the scorer was deleted. */
  scorer_erased: boolean;
  experiment_id: string | null;
  cost_usd: number | null;
  /** Cost limit, in US dollars. */
  max_cost_usd: number | null;
  cache: boolean;
  failure_detail: string | null;
  started_at: string | null;
  finished_at: string | null;
  created_at: string;
  updated_at: string;
  created_by: string;
};
export type ScoreResult = ScoringResult & {
  scorer_version: number;
  score_id: string;
  score_run_id: string;
  scorer_id: string;
  created_at: string;
};
export type CreateScoreBatch = {
  grain?: "trace" | "session" | null;
  concurrency?: number | null;
  filters?: RuleFilter[] | null;
  trace_ids?: string[] | null;
  since?: string | null;
  until?: string | null;
  cache?: boolean | null;
  /** Scores only the newest targets (of an experiment, its newest results). */
  limit?: number | null;
  /** Limit for the cost of the judge over all runs, in US dollars; with a limit, runs are executed one at a time. */
  max_cost_usd?: number | null;
  agent_ids?: string[] | null;
  experiment_id?: string | null;
  session_ids?: string[] | null;
  unscored_only?: boolean | null;
  workspace_id?: string;
};
export type ScoreBatch = {
  scorer_version: number;
  grain: "trace" | "session";
  total: number;
  /** Number of targets without an error. */
  completed_count: number;
  /** Number of targets with an error. */
  failed_count: number;
  not_written_back_count: number;
  truncated_count: number;
  too_large_count: number;
  concurrency: number;
  failure_code: FailureCode;
  /** Always null, because it cannot be archived. */
  archived_at: null;
  batch_status: "queued" | "running" | "succeeded" | "failed";
  /** Number of runs started so far, each over up to 100 targets. */
  run_count: number;
  score_batch_id: string;
  workspace_id: string;
  scorer_id: string;
  /** Whether the scorer was deleted. */
  scorer_erased: boolean;
  experiment_id: string | null;
  cost_usd: number | null;
  /** Cost limit, in US dollars. */
  max_cost_usd: number | null;
  cache: boolean;
  failure_detail: string | null;
  started_at: string | null;
  finished_at: string | null;
  created_at: string;
  updated_at: string;
  created_by: string;
};
export type ScoreExperiment = {
  /** 1 to 20 scorers, each by its id or name. */
  scorers: string[];
  /** Number of results scored at a time in each run, at most 32; 0 means the default of 4. */
  concurrency?: number | null;
  /** Limit for the cost of all batches together, in US dollars; with a limit, the batches run one after the other. */
  max_cost_usd?: number | null;
  workspace_id?: string;
  /** Skips results that this version of the scorer has scored, or that are in one of its open runs or batches. */
  unscored_only?: boolean | null;
};
export type ScoreBatches = { score_batches: ScoreBatch[]; };
export type CreateScoringRule = {
  /** Share of targets to score. */
  sample_rate?: number | null;
  /** The trace, or one trace of the session, must meet all of these conditions. */
  filters?: RuleFilter[] | null;
  /** Whether each score is about a trace or a session. */
  grain?: "trace" | "session" | null;
  /** Default: `true`. */
  enabled?: boolean | null;
  /** Seconds without a new span after which a trace (60 by default) or a whole session (900 by default) counts as complete. */
  quiet_seconds?: number | null;
  /** Limit for the cost of the runs that the rule starts on one day (UTC), in US dollars; with a limit, the rule has only one open run at a time. */
  max_cost_usd_per_day?: number | null;
  /** `even` spends the share of `max_cost_usd_per_day` that equals the share of the day (UTC) that has passed, to within half a target, and skips traces beyond it, so that the scored traces are spread over the day; `greedy` spends it as traces arrive (default: `even`). */
  pace?: "even" | "greedy" | null;
  workspace_id?: string;
};
export type ScoringRule = {
  sample_rate: number;
  grain: "trace" | "session";
  quiet_seconds: number;
  /** How the limit is spent over the day. */
  pace: "even" | "greedy";
  spent_today_usd: number;
  sent_count: number;
  skipped_count: number;
  scored_count: number;
  /** Number of traces or sessions processed. */
  seen_count: number;
  chosen_count: number;
  ordered_count: number;
  rule_id: string;
  scorer_id: string;
  workspace_id: string;
  filters: RuleFilter[];
  enabled: boolean;
  max_cost_usd_per_day: number | null;
  /** When the rule was created, or last enabled or restored. */
  enabled_at: string;
  last_seen_at: string | null;
  /** When the rule last started a run. */
  last_run_at: string | null;
  last_score_run_id: string | null;
  /** Why the rule is blocked; null if it is not blocked. */
  last_error: string | null;
  paused_until: string | null;
  /** When the rule was last paused; null before the first pause. */
  last_paused_at: string | null;
  created_at: string;
  updated_at: string;
  created_by: string;
  archived_at: string | null;
};
export type PatchScoringRule = {
  sample_rate?: number;
  /** Replaces all filters; null removes them. */
  filters?: RuleFilter[] | null;
  grain?: "trace" | "session";
  /** Seconds without a new span after which a trace (60 by default) or a whole session (900 by default) counts as complete. */
  quiet_seconds?: number | null;
  /** Null removes the limit. */
  max_cost_usd_per_day?: number | null;
  /** `even` spends the share of `max_cost_usd_per_day` that equals the share of the day (UTC) that has passed, to within half a target, and skips traces beyond it, so that the scored traces are spread over the day; `greedy` spends it as traces arrive. */
  pace?: "even" | "greedy" | null;
  /** Must be the current workspace, because a rule cannot be moved (422). */
  workspace_id?: string;
  /** Immutable (422 for another value). */
  rule_id?: string;
  /** Immutable (422 for another value). */
  scorer_id?: string;
  enabled?: boolean;
};
export type CreateScore = {
  scorer_version?: number | null;
  trace_id?: string | null;
  result_version?: number | null;
  score?: number | boolean | null;
  answers?: { [key: string]: unknown; } | null;
  metadata?: { [key: string]: unknown; } | null;
  source?: "client" | "human" | "end_user" | null;
  workspace_id?: string;
  scorer_id?: string | null;
  scorer_name?: string | null;
  session_id?: string | null;
  result_id?: string | null;
  experiment_id?: string | null;
  label?: string | null;
  comment?: string | null;
  author?: string | null;
};
export type Score = {
  scorer_version: number | null;
  scorer_kind: "code" | "llm_judge" | "human" | null;
  source: "client" | "hosted" | "human" | "end_user";
  /** The scored target. */
  target_kind: "trace" | "session" | "result";
  answers: { [key: string]: unknown; } | null;
  metadata: { [key: string]: unknown; };
  /** Always null: scores cannot be archived. */
  archived_at: null;
  score_id: string;
  workspace_id: string;
  /** Null if no scorer has the name. */
  scorer_id: string | null;
  /** The scorer's name when the score was given. */
  scorer_name: string;
  trace_id: string | null;
  session_id: string | null;
  /** The scored result. */
  result_id: string | null;
  /** The experiment of the scored result. */
  experiment_id: string | null;
  case_id: string | null;
  /** The span of an evaluation event that arrived by OTLP. */
  span_id: string | null;
  /** Null if the scorer gave no score. */
  score: number | null;
  label: string | null;
  comment: string | null;
  author: string | null;
  /** The run that gave the score. */
  score_run_id: string | null;
  model: string | null;
  judge_digest: string | null;
  is_truncated: boolean;
  /** The earlier score that this one supersedes. */
  supersedes_score_id: string | null;
  /** The score that supersedes this one. */
  superseded_by_score_id: string | null;
  superseded_at: string | null;
  created_at: string;
  /** When it was superseded, else when it was created. */
  updated_at: string;
  created_by: string;
};
export type BulkScores = {
  /** 1 to 100 scores. */
  items: BulkScore[];
  workspace_id?: string;
};
export type BulkScoresResponse = { items: BulkScoreItem[]; };
export type ScoreStatsQuery = {
  scorer_version?: number;
  scorer_kind?: "code" | "llm_judge" | "human";
  source?: "client" | "hosted" | "human" | "end_user";
  /** `trace` excludes scores of results that reference a trace. */
  target_kind?: "trace" | "session" | "result";
  /** Scores of this version of a result. */
  result_version?: number;
  /** Scores of at least this number. */
  min_score?: number;
  /** Scores of at most this number. */
  max_score?: number;
  /** Scores recorded at this time or later (RFC 3339). */
  since?: string;
  /** Scores recorded before this time (RFC 3339). */
  until?: string;
  /** `hour` and `day` (UTC) are those of recording, `tag` is a tag of the result, and the others belong to the trace. */
  group_by?: ("scorer" | "version" | "source" | "label" | "day" | "tag" | "model" | "service" | "agent_version" | "user_id" | "environment" | "prompt_name" | "prompt_version" | "hour" | "trace_day")[] | null;
  /** Scores of traces that started at this time or later (RFC 3339). */
  trace_since?: string;
  /** Scores of traces that started before this time (RFC 3339). */
  trace_until?: string;
  /** The lowest score that counts as passed. */
  pass_score?: number | null;
  workspace_id?: string;
  /** Scores by any version of this scorer. */
  scorer_id?: string;
  /** Scores under this name, whether or not a scorer has it. */
  scorer_name?: string;
  /** Scores of this trace and of results that reference it. */
  trace_id?: string;
  /** Scores of this session, of its traces, and of results that reference it. */
  session_id?: string;
  result_id?: string;
  /** Scores of this experiment's results. */
  experiment_id?: string;
  case_id?: string;
  label?: string;
  span_id?: string;
  /** Scores by judges of this model, as the provider answered it. */
  model?: string;
  judge_digest?: string;
  /** Scores by a hosted scorer that saw only a part of a transcript, or the others. */
  is_truncated?: boolean;
  author?: string;
  score_run_id?: string;
  /** Scores that this principal recorded, or whose run this principal started. */
  created_by?: string;
};
export type ScoreStats = {
  rows: ScoreStatsRow[];
  /** Whether `rows` is truncated to the first 10,000 groups. */
  is_truncated: boolean;
};
export type CreateAnnotationQueue = {
  metadata?: { [key: string]: unknown; } | null;
  description?: string | null;
  /** Unique among the workspace's queues that are not archived. */
  name: string;
  /** Scorers of kind `human`, whose current versions the queue pins. */
  scorer_ids: string[];
  /** Ids of the users and service accounts who may work on the queue. */
  assignees?: string[] | null;
  /** How many different people score each item. */
  scores_per_item: number;
  workspace_id?: string;
  source: AnnotationSource;
};
export type AnnotationQueue = QueueProgress & {
  scores_per_item: number;
  metadata: { [key: string]: unknown; };
  queue_id: string;
  workspace_id: string;
  name: string;
  description: string | null;
  scorer_ids: string[];
  /** The pinned versions that everybody answers. */
  scorers: QueueScorerVersion[];
  source: AnnotationSource;
  assignees: string[] | null;
  created_at: string;
  updated_at: string;
  created_by: string;
  archived_at: string | null;
};
export type PatchAnnotationQueue = {
  metadata?: { [key: string]: unknown; } | null;
  description?: string | null;
  name?: string;
  /** Immutable (422 for another value). */
  scorer_ids?: string[];
  /** Replaces all assignees. */
  assignees?: string[] | null;
  /** Immutable (422 for another value). */
  scores_per_item?: number;
  /** Must be the current workspace, because a queue cannot be moved (422). */
  workspace_id?: string;
  /** Immutable (422 for another value). */
  queue_id?: string;
  /** Immutable (422 for another value). */
  source?: AnnotationSource;
};
export type QueueAgreement = {
  queue_id: string;
  scorers: QueueScorerAgreement[];
  /** Whether the queue has more than 100,000 scores. */
  is_truncated: boolean;
};
export type ClaimItem = {
  author?: string | null;
  workspace_id?: string;
};
export type ClaimResponse = {
  reason: "completed" | "done" | "claimed" | null;
  /** Null if there is nothing to do for this person now. */
  item: ClaimedItem | null;
  /** When the first of the other people's claims ends. */
  retry_at: string | null;
  scorers: QueueScorer[];
  progress: QueueProgress;
};
export type AnnotationItem = {
  item_status: "pending" | "in_progress" | "skipped" | "completed";
  /** Number of people who have scored it. */
  scored_count: number;
  queue_id: string;
  workspace_id: string;
  /** When the last claim ends. */
  claimed_until: string | null;
  answers: ItemAnswer[];
  completed_at: string | null;
  created_at: string;
  updated_at: string;
  item_id: string;
  trace_id: string | null;
  session_id: string | null;
  experiment_id: string | null;
  result_id: string | null;
  case_id: string | null;
};
export type Annotator = {
  scored_count: number;
  /** Items that the person skipped and has not scored since. */
  skipped_count: number;
  /** The account. */
  principal_id: string;
  author: string | null;
  created_at: string;
  last_active_at: string;
};
export type ScoreItem = {
  scores: ItemScore[];
  author?: string | null;
  workspace_id?: string;
};
export type ItemOutcome = {
  outcome: "scored" | "skipped";
  item_id: string;
  is_completed: boolean;
  scores: AnsweredScore[];
};
export type SkipItem = {
  author?: string | null;
  /** Why you skip the item. */
  reason: string;
  workspace_id?: string;
};
export type StoreItem = {
  category: CategoryOfCreatePublisherItem;
  /** What others may do with the item. */
  actions: ("install" | "run" | "download" | "fork")[];
  /** Size of the package, in bytes. */
  size_bytes: number;
  file_count: number;
  is_reviewed?: boolean;
  store_item_id: string;
  publication_id: string;
  publisher_org_id: string;
  name: string;
  source: StoreSource;
  manifest: PackageManifest;
  license: string;
  /** SHA-256 of the package, in hexadecimal. */
  sha256: string;
  policy: StorePolicy;
  /** Null unless the item is an agent. */
  agent_profile?: AgentProfile | null;
  /** An https URL. */
  artwork?: string | null;
  highlights?: string[];
  release_notes?: string | null;
  tagline?: string | null;
  topics?: string[];
  version_label?: string | null;
};
export type StoreItemsPage = {
  items: StoreItem[];
  page: StoreItemsPageMeta;
};
export type CreatePublisherItem = {
  name: string;
  category: CategoryOfCreatePublisherItem;
  license: string;
  tagline?: string | null;
  topics?: string[] | null;
  highlights?: string[] | null;
  release_notes?: string | null;
  /** What others may do with the item. */
  actions: ("install" | "run" | "download" | "fork")[];
  workspace_id?: string;
  artifact: PublishedArtifact;
  /** Defaults to your own organization only. */
  audience?: SetStoreAudience | null;
  artwork?: string | null;
  version_label?: string | null;
};
export type PublisherItem = CatalogueItem & {
  /** The workspace of the resource. */
  workspace_id: string;
  created_by: string;
  /** When the item was withdrawn, or null. */
  archived_at: string | null;
};
export type PatchPublisherItem = {
  name?: string;
  category?: CategoryOfCreatePublisherItem;
  license?: string;
  tagline?: string | null;
  topics?: string[] | null;
  highlights?: string[] | null;
  release_notes?: string | null;
  artwork?: string | null;
  version_label?: string | null;
  workspace_id?: string;
  /** Immutable (422 for another value). */
  store_item_id?: string;
};
export type PublisherItemPolicy = {
  audience: SetStoreAudience;
  is_listed: boolean;
  /** Whether the audience may acquire and download the item, as far as its `actions` allow. */
  can_acquire: boolean;
};
export type CreatePublisherItemRelease = {
  name?: string;
  category?: CategoryOfCreatePublisherItem;
  license?: string;
  tagline?: string | null;
  topics?: string[] | null;
  highlights?: string[] | null;
  release_notes?: string | null;
  artwork?: string | null;
  version_label?: string | null;
  actions?: ("install" | "run" | "download" | "fork")[];
  workspace_id?: string;
  /** Must be the resource of the item (422). */
  artifact?: PublishedArtifact;
  /** Immutable (422 for another value). */
  audience?: SetStoreAudience | null;
};
export type CatalogueRelease = {
  size_bytes: number;
  file_count: number;
  release_id: string;
  publication_id: string;
  version_label: string | null;
  release_notes: string | null;
  /** SHA-256 of the package, in hexadecimal. */
  sha256: string;
  manifest: PackageManifest;
  signature: string | null;
  created_at: string;
};
export type CatalogueItem = StoreItem & {
  created_at: string;
  updated_at: string;
  signature: string | null;
};
export type ReviewStoreItem = {
  /** Default: `true`. */
  is_reviewed?: boolean;
  /** The release that was reviewed. */
  release_id?: string;
};
export type AcquireStoreItem = {
  workspace_id?: string;
  release_id?: string | null;
};
export type Acquisition = {
  acquisition_id: string;
  store_item_id: string;
  /** True if the item was deleted, else absent. */
  item_erased?: boolean;
  /** The installed release. */
  release_id: string;
  workspace_id: string;
  /** In the order of the package. */
  copies: AcquiredCopy[];
  /** The newest release. */
  latest_release_id: string | null;
  /** Whether the newest release is not the installed one. */
  is_upgradable: boolean;
  created_at: string;
  updated_at: string;
  created_by: string;
  archived_at: string | null;
};
export type UpgradeAcquisition = { release_id?: string | null; };
export type UpgradeChange = {
  kind: Kind;
  /** `removed` means that the new release lacks the component. */
  change: "created" | "updated" | "unchanged" | "removed";
  replaced_version_ordinal: number | null;
  key: string;
  /** The id of the copy. */
  artifact_id: string;
  name: string;
};
/** A message of the Model Context Protocol. */
export type McpRequest = {
  jsonrpc: "2.0";
  id?: string | number;
  method: string;
  params?: { [key: string]: unknown; };
  [key: string]: unknown;
};
export type McpResult = {
  jsonrpc: "2.0";
  id: string | number | null;
  result: { [key: string]: unknown; };
};
/** A protocol error. */
export type McpError = {
  jsonrpc: "2.0";
  id: string | number | null;
  error: {
  code: number;
  message: string;
  data?: unknown;
};
};
export type ProtectedResource = {
  /** The URL of the MCP endpoint. */
  resource: string;
  authorization_servers: string[];
  bearer_methods_supported: string[];
  resource_name: string;
  resource_documentation: string;
};
export type MeOrg = {
  status: "active" | "suspended";
  org_id: string;
  name: string;
};
export type KeyAllow = {
  /** Includes the areas that the other members imply. */
  areas: ("read" | "telemetry" | "models" | "apis" | "tools" | "scores")[];
  models: string[] | null;
  apis: string[] | null;
  /** As `<server>/<tool>`. */
  tools: string[] | null;
  agent_id: string | null;
};
export type MePrincipal = {
  principal_type: "user" | "service_account" | "platform";
  principal_id: string;
  name: string | null;
};
export type MeWorkspace = {
  roles: Roles;
  workspace_id: string;
  name: string;
};
export type MeCredential = {
  kind: "token" | "api_key";
  issuer: string | null;
  /** The id of the token. */
  jti: string | null;
  key_id: string | null;
  expires_at: string | null;
};
export type ErasureSubject = {
  kind: "end_user" | "session" | "workspace" | "org" | "dataset" | "experiment" | "traces";
  id_hash: string;
};
export type Roles = ("viewer" | "annotator" | "editor" | "evaluator" | "publisher" | "runtime" | "admin" | "owner")[];
/** Replaces the current roles. */
export type RolesOfPatchServiceAccount = ("viewer" | "annotator" | "editor" | "evaluator" | "publisher" | "runtime" | "admin" | "owner")[] | null;
export type MaskingRule = {
  builtin?: "email" | "phone" | "card" | "api_key" | null;
  fields?: string[] | null;
  pattern?: string | null;
  /** Replaces each match, taken literally. */
  replacement?: string | null;
};
export type Retention = {
  /** Days after the day on which a trace arrived. */
  traces_days?: number | null;
  /** Days after the day on which a log record arrived. */
  logs_days?: number | null;
  /** Days after the day on which a data point arrived. */
  metrics_days?: number | null;
  /** Days after the creation of a score of a trace or a session. */
  scores_days?: number | null;
  sessions_days?: number | null;
};
export type KeyAllowBody = {
  areas?: ("read" | "telemetry" | "models" | "apis" | "tools" | "scores")[] | null;
  /** Models in the account's workspaces, by name or id. */
  models?: string[] | null;
  /** Registered APIs in the account's workspaces, by name or id. */
  apis?: string[] | null;
  tools?: string[] | null;
  /** An agent in the account's workspaces. */
  agent_id?: string | null;
};
export type Declaration = {
  kind: "file" | "api" | "mcp_server" | "skill" | "agent";
  /** Unique among the app's resources of the kind. */
  name: string;
  spec: { [key: string]: unknown; };
};
export type AppSyncError = {
  errors: FieldError[];
  /** The time when a reconcile first failed for this reason. */
  at: string;
  code: string;
  detail: string;
};
export type PlannedResource = {
  kind: "file" | "api" | "mcp_server" | "skill" | "agent";
  changes: PlannedChange[];
  /** The name in the declaration. */
  name: string;
};
export type ApiAuth = NoneApiAuth | BearerApiAuth | HeaderApiAuth | BasicApiAuth | QueryApiAuth;
export type AllowedMethods = ("GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS")[];
export type StoredApiAuth = {
  type: "none" | "bearer" | "header" | "basic" | "query";
  /** Whether a secret is stored. */
  has_value: boolean;
  name: string | null;
};
export type AcquiredFrom = {
  version_ordinal: number;
  store_item_id: string;
  release_id: string;
  /** The publisher's resource. */
  artifact_id: string;
  version_id: string;
};
export type PatchApiAuth = {
  type?: "none" | "bearer" | "header" | "basic" | "query";
  /** A new secret; if absent, the current secret stays. */
  value?: string | null;
  name?: string | null;
};
export type ApiAuthView = {
  type: "none" | "bearer" | "header" | "basic" | "query";
  name: string | null;
};
export type AuditChange = {
  /** The previous value. */
  before?: unknown;
  /** The new value. */
  after?: unknown;
  member: string;
};
export type ErasureRequestSubject = {
  kind: "end_user" | "session" | "workspace" | "org";
  /** The id of the end user, session, workspace or organization. */
  id: string;
};
export type SearchFilters = {
  /** Only resources that changed at this time or later. */
  updated_after?: string;
  /** Only resources that changed before this time. */
  updated_before?: string;
};
export type SearchItem = {
  type: "app" | "agent" | "skill" | "mcp_server" | "tool" | "file" | "repo" | "api" | "store_item";
  /** The id of the resource. */
  id: string;
  name: string;
  description: string | null;
  workspace_id: string;
  /** Higher is better, and comparable only within one response. */
  score: number;
  ranks: SearchRanks;
  highlight: string | null;
};
export type PageMeta = {
  limit: number;
  offset: number;
  /** Exact up to 100,000, null beyond and with `total=false`. */
  total: number | null;
  /** Pass it as `cursor` to get the next page. */
  next_cursor: string | null;
};
export type ByteUsage = {
  used: number;
  /** `FILE_QUOTA_BYTES`. */
  quota: number | null;
};
export type SpanUsage = {
  /** Up to a second old. */
  used: number | null;
  /** `TELEMETRY_QUOTA_SPANS_PER_DAY`. */
  quota: number | null;
  /** The current day (UTC), such as `2026-03-01`. */
  day: string;
  /** When the next day begins, and `used` is 0 again. */
  resets_at: string;
};
export type RuleFilter = {
  field: "root_name" | "service_name" | "agent_version" | "model" | "status" | "session_id" | "user_id" | "environment" | "tag" | "prompt_name" | "prompt_version" | "duration_ms" | "input_tokens" | "output_tokens" | "total_tokens" | "cost_usd" | "span_count" | "error_count";
  /** `gte` and `lte` apply only to measures. */
  op: "eq" | "in" | "gte" | "lte";
  value: unknown;
};
export type TraceMetric = {
  /** `total_tokens` is input plus output tokens. */
  measure: "duration_ms" | "input_tokens" | "output_tokens" | "total_tokens" | "cost_usd" | "span_count" | "error_count" | "count";
  aggregation: Aggregation;
};
export type TelemetryTraceFilter = {
  op: "eq" | "in" | "gte" | "lte";
  value: unknown;
  field: "model" | "root_name" | "status" | "service_name" | "agent_version" | "user_id" | "environment" | "tag" | "prompt_name" | "prompt_version" | "session_id" | "duration_ms" | "input_tokens" | "output_tokens" | "total_tokens" | "cost_usd" | "span_count" | "error_count" | "started_at";
};
export type TraceStatsRow = {
  /** One member for each item of `group_by`. */
  group: { [key: string]: string | null };
  /** One member for each metric, named `measure.aggregation`. */
  values: { [key: string]: number | null };
};
export type SpanMetric = {
  measure: "duration_ms" | "time_to_first_token_ms" | "input_tokens" | "cached_input_tokens" | "cache_write_tokens" | "output_tokens" | "reasoning_tokens" | "total_tokens" | "cost_usd" | "error_count" | "count";
  aggregation: Aggregation;
};
export type SpanFilter = {
  op: "eq" | "in" | "gte" | "lte";
  value: unknown;
  field: "model" | "operation" | "tool_name" | "provider" | "agent_name" | "status" | "user_id" | "environment" | "session_id" | "service_name" | "prompt_name" | "prompt_version" | "duration_ms" | "time_to_first_token_ms" | "input_tokens" | "cached_input_tokens" | "cache_write_tokens" | "output_tokens" | "reasoning_tokens" | "total_tokens" | "cost_usd" | "error_count" | "started_at";
};
export type ExportTracePartialSuccess = {
  /** Number of invalid spans: a 64-bit integer as a string. */
  rejectedSpans: string;
  errorMessage: string;
};
export type TraceScore = {
  /** Null if the version is unknown. */
  scorer_version: number | null;
  scorer_name: string;
  /** Null if no scorer has the name. */
  scorer_id: string | null;
  /** `client`, `hosted`, `human` or `end_user`. */
  source: string;
  /** Null if the scorer deliberately gave no score. */
  score: number | null;
  label: string | null;
  author: string | null;
  /** `trace`, or `result` for a result that references the trace. */
  target_kind: string;
  /** The experiment of the scored result. */
  experiment_id: string | null;
  /** The scored result. */
  result_id: string | null;
  score_id: string;
  created_at: string;
};
export type TreeSpan = {
  kind: KindOfSpan;
  duration_ms: number;
  dropped_attributes_count: number;
  /** Number of dropped events. */
  dropped_events_count: number;
  /** Number of dropped links. */
  dropped_links_count: number;
  input_tokens: number | null;
  output_tokens: number | null;
  cached_input_tokens: number | null;
  cache_write_tokens: number | null;
  reasoning_tokens: number | null;
  time_to_first_token_ms: number | null;
  cost_usd: number | null;
  depth: number;
  /** 16 lower-case hexadecimal digits. */
  span_id: string;
  /** Null for a root. */
  parent_span_id: string | null;
  name: string;
  status: SpanStatus;
  started_at: string;
  ended_at: string;
  start_unknown: boolean;
  operation: string | null;
  provider: string | null;
  model: string | null;
  agent_name: string | null;
  tool_name: string | null;
};
export type ExportLogsPartialSuccess = {
  /** Number of invalid log records: a 64-bit integer as a string. */
  rejectedLogRecords: string;
  errorMessage: string;
};
export type SpanResource = {
  attributes: { [key: string]: unknown; };
  dropped_attributes_count: number;
  schema_url: string;
};
export type SpanScope = {
  attributes: { [key: string]: unknown; };
  dropped_attributes_count: number;
  name: string;
  version: string;
  schema_url: string;
};
export type ExportMetricsPartialSuccess = {
  /** Number of invalid data points: a 64-bit integer as a string. */
  rejectedDataPoints: string;
  errorMessage: string;
};
export type Exemplar = {
  /** Time with nanoseconds. */
  timestamp: string;
  value: unknown;
  attributes: { [key: string]: unknown; };
  trace_id: string | null;
  span_id: string | null;
};
export type SkillFileInput = {
  /** The encoding of `content`. */
  encoding?: "utf-8" | "base64" | null;
  path: string;
  content: string;
};
export type SkillIndexEntry = {
  type: "skill-md" | "archive";
  /** Relative to the URL of the index. */
  url: string;
  /** The SHA-256 of the bytes at `url`. */
  digest: string;
  name: string;
  description: string;
};
export type SkillFile = {
  size_bytes: number;
  path: string;
  sha256: string;
};
export type AgentTool = {
  /** True if the server was deleted, else absent. */
  erased?: boolean;
  /** An MCP server of the workspace. */
  server_id: string;
  /** The name of a tool of that server. */
  tool_name: string;
};
export type AgentSkillInput = {
  version_ordinal?: number | string | null;
  /** True if the skill, or the version, was deleted, else absent. */
  erased?: boolean;
  /** A skill of the workspace. */
  skill_id: string;
};
export type AgentSkill = {
  /** The version that the agent is pinned to. */
  version_ordinal: number | null;
  skill_id: string;
  /** True if the skill, or the version, was deleted, else absent. */
  erased?: boolean;
};
export type DeclaredTool = {
  name: string;
  title?: string | null;
  description?: string | null;
  /** A JSON Schema of the arguments. */
  input_schema?: { [key: string]: unknown; };
  /** The name of `input_schema` in the Model Context Protocol. */
  inputSchema?: { [key: string]: unknown; };
  /** A JSON Schema of the structured result. */
  output_schema?: { [key: string]: unknown; } | null;
  /** The name of `output_schema` in the Model Context Protocol. */
  outputSchema?: { [key: string]: unknown; } | null;
  annotations?: { [key: string]: unknown; } | null;
};
export type ServerAuth = NoneServerAuth | BearerServerAuth | HeaderServerAuth | OauthServerAuth;
export type StoredServerAuth = ServerAuthView & {
  /** Whether a secret of the type `bearer` or `header` is stored. */
  has_value: boolean;
  /** Whether a client secret of the type `oauth` is stored. */
  has_client_secret: boolean;
};
export type ServerHealth = {
  status: "unknown" | "healthy" | "unhealthy";
  latency_ms: number | null;
  error: ServerFailure | null;
  checked_at: string | null;
};
export type PatchServerAuth = {
  type?: "none" | "bearer" | "header" | "oauth";
  /** A new secret; if omitted, the current one stays. */
  value?: string | null;
  /** A new secret; if omitted, the current one stays. */
  client_secret?: string | null;
  header?: string | null;
  token_url?: string | null;
  client_id?: string | null;
  scope?: string | null;
};
export type ServerAuthView = {
  type: "none" | "bearer" | "header" | "oauth";
  /** Null unless the type is `header`. */
  header: string | null;
  /** With placeholders in its query, like `url`. */
  token_url: string | null;
  /** Null unless the type is `oauth`. */
  client_id: string | null;
  /** The requested scopes. */
  scope: string | null;
};
export type ImportServerAuth = {
  type?: "none" | "bearer" | "header" | "oauth";
  value?: string | null;
  /** The client secret for the type `oauth`. */
  client_secret?: string | null;
  header?: string | null;
  token_url?: string | null;
  client_id?: string | null;
  scope?: string | null;
};
export type ServerInfo = {
  name: string;
  version: string;
  title: string | null;
};
export type ServerFailure = {
  kind: "unreachable" | "timeout" | "unauthorized" | "tls" | "protocol" | "blocked_address";
  message: string;
};
export type SkippedTool = {
  name: string;
  /** The member of the tool that is invalid, and its rule. */
  reason: string;
};
export type ToolCounts = {
  /** New tools, and tools that reappeared. */
  added_count: number;
  updated_count: number;
  archived_count: number;
  unchanged_count: number;
};
export type ComparedToolVersion = {
  version_ordinal: number;
  version_id: string;
  digest: string;
  created_at: string;
};
export type ReviewedToolVersion = ComparedToolVersion & { hidden_characters: HiddenCharacters[]; };
export type ToolChange = {
  kind: "text" | "json";
  before?: string | null;
  after?: string | null;
  member: string;
  /** The lines of a unified diff. */
  diff?: string[];
  changes?: ToolJsonChange[];
  /** Whether there are more changes. */
  is_truncated?: boolean;
};
export type RegistryPageMeta = {
  count: number;
  /** Absent on the last page. */
  nextCursor?: string;
};
export type RegistryServer = {
  $schema: string;
  name: string;
  title: string;
  /** The description, cut to 100 characters with `…`. */
  description: string;
  /** `1.0.` followed by the number of the version. */
  version: string;
  websiteUrl?: string;
  repository?: RegistryRepository;
  remotes: RegistryRemote[];
  _meta: RegistryServerMeta;
};
export type RegistryEntryMeta = { 'io.modelcontextprotocol.registry/official': RegistryOfficialMeta; };
export type ModelTarget = {
  weight?: number | null;
  max_input_tokens?: number | null;
  max_output_tokens?: number | null;
  provider_id: string;
  upstream_model: string;
  price?: TargetPrice | null;
};
export type ListedModel = {
  object: "model";
  /** The time when the model was created, in seconds since 1970. */
  created: number;
  /** The kind of the first target's provider. */
  owned_by: "openai" | "anthropic";
  /** The name of the model. */
  id: string;
};
export type ModelTargetView = {
  weight?: number | null;
  max_input_tokens?: number | null;
  max_output_tokens?: number | null;
  state: "active" | "cooling_down";
  /** When the target last failed. */
  last_error_at: string | null;
  /** True if the provider was deleted, else absent. */
  erased?: boolean;
  provider_id: string;
  upstream_model: string;
  price?: TargetPrice | null;
};
export type KeyModel = {
  model_id: string;
  name: string;
};
export type ModelUsageTotal = {
  call_count: number;
  failed_count: number;
  /** Calls with a cached response. */
  cached_count: number;
  attempts: number;
  /** Attempts that failed because of the provider. */
  failed_attempts: number;
  unpriced_count: number;
  estimated_count: number;
  input_tokens: number;
  output_tokens: number;
  cached_input_tokens: number;
  cache_write_tokens: number;
  cost_usd: number;
  /** The part of `cost_usd` that is estimated. */
  estimated_usd: number;
};
/** The member to sort by, in ascending order. */
export type Sort = "created_at" | "-created_at" | "updated_at" | "-updated_at" | "name" | "-name";
export type CsvMapping = {
  /** Columns of `input`. */
  input?: string | string[] | null;
  /** Columns of `expected`. */
  expected?: string | string[] | null;
  metadata?: string | string[] | null;
  /** Columns of `tags`. */
  tags?: string | string[] | null;
};
export type DatasetVersionMapping = {
  input: string[];
  expected: string[];
  metadata: string[];
  tags: string[];
};
export type DatasetColumn = {
  becomes: "case_id" | "input" | "expected" | "metadata" | "tags";
  name: string;
};
export type DatasetWarning = {
  /** Names the kind of the warning. */
  code: "no_input" | "no_expected" | "expected_in_input" | "second_expected" | "prompt_in_metadata" | "input_is_object" | "unnamed_column_in_input" | "row_numbers_as_case_ids" | "empty_column" | "empty_cells" | "numbers_as_text" | "single_value";
  /** Null if the warning is about the whole file. */
  column: string | null;
  detail: string;
};
export type RecordFields = {
  expected?: unknown;
  tags?: string[] | null;
  input: unknown;
  metadata?: { [key: string]: unknown; } | null;
  source_kind?: "manual" | "session" | "trace" | "external" | null;
  label?: string | null;
  category?: string | null;
  source_ref?: string | null;
  external_id?: string | null;
};
export type BulkRecordItem = {
  index: number;
  status_code: number;
  record: DatasetRecord;
} | {
  index: number;
  status_code: number;
  error: ProblemDetails;
};
export type RecordFromTrace = {
  index: number;
  status_code: number;
  record: DatasetRecord;
  trace_id: string;
} | {
  index: number;
  status_code: number;
  error: ProblemDetails;
  trace_id: string;
};
export type DatasetFilter = {
  /** Cases with all of these tags. */
  tags?: string[] | null;
  label?: string | null;
  category?: string | null;
  dataset_record_ids?: string[] | null;
  case_ids?: string[] | null;
};
export type ScoreSummary = {
  count: number;
  mean: number;
};
export type ExperimentSummary = {
  scores?: { [key: string]: ScoreSummary };
  scorers?: { [key: string]: ScorerReference };
  metrics: { [key: string]: unknown; } | null;
  coverage?: Coverage;
  is_truncated?: boolean;
  /** Whether there are more than 1,000 scorers. */
  is_scorers_truncated?: boolean;
};
export type DatasetSnapshot = {
  source: "records" | "csv";
  dataset_version: number | null;
  /** Number of cases: records, or rows of the CSV version. */
  record_count: number;
  erased?: true;
  records?: SnapshotRecord[];
  dataset_id: string;
  sha256: string;
};
export type ScoreRange = {
  /** The scorer's name in the summary. */
  scorer: string;
  gte?: number;
  lte?: number;
};
export type SummaryPatch = { metrics?: { [key: string]: unknown; } | null; };
export type ComparedExperiment = {
  experiment_status: "running" | "completed" | "failed";
  /** The pinned CSV version; null if the cases are records. */
  dataset_version: number | null;
  result_count: number;
  /** Number of these results with an error. */
  error_count: number;
  expected_case_count: number | null;
  /** How often each case is run. */
  trials: number;
  experiment_id: string;
  name: string;
  experiment_name: string;
  /** The dataset of the cases. */
  dataset_id: string | null;
  /** Whether the experiment has more results than are compared. */
  is_truncated: boolean;
};
export type ComparisonTotals = {
  /** Number of distinct cases in the two experiments together. */
  cases: number;
  /** Cases of both experiments that have not changed. */
  cases_shared: number;
  changed_case_count: number;
  erased_count: number;
  cases_only_in_candidate: number;
  cases_only_in_baseline: number;
};
export type ScorerComparison = {
  unit: "cases";
  p_value: number | null;
  /** Number of cases with scores on both sides. */
  cases: number;
  improved: number;
  regressed: number;
  unchanged: number;
  missing: number;
  judge_changed_count: number;
  /** Number of cases that have changed, as in `totals`. */
  changed_case_count: number;
  verdict: "improved" | "regressed" | "inconclusive" | "not_comparable";
  scorer: string;
  candidate: ComparedMean;
  baseline: ComparedMean;
  difference: number | null;
  confidence_interval: Interval | null;
  /** Why the scores are not comparable; null if they are. */
  reason: string | null;
};
export type ComparedMeasures = {
  duration_ms: MeasureComparison;
  input_tokens: MeasureComparison;
  output_tokens: MeasureComparison;
  cost_usd: MeasureComparison;
};
export type ComparedCasePage = {
  items: ComparedCase[];
  page: PageMeta;
};
export type AgreeingScorer = {
  scorer_kind: "code" | "llm_judge" | "human";
  scorer_id: string;
  name: string;
};
export type Confusion = {
  /** Whether the categories are labels or scores. */
  basis: "label" | "score";
  categories: (string | number)[];
  category_scores: number[] | null;
  counts: (number[])[];
  units: number;
};
export type Measure = {
  /** Number of units measured. */
  units: number;
  value: number | null;
  /** 95% confidence interval, by bootstrap over units (BCa). */
  confidence_interval: Interval | null;
};
export type PersonAgreement = {
  /** Number of units measured. */
  units: number;
  created_by: string;
  /** Distinguishes the people behind one account. */
  author: string | null;
  /** Cohen's kappa of the person and the other scorer. */
  cohens_kappa: number | null;
};
export type GateRule = {
  /** Minimum number of cases with a score that is not null. */
  min_count?: number | null;
  min_coverage?: number | null;
  /** Maximum number of cases that are worse than in the baseline. */
  max_regressed_cases?: number | null;
  scorer?: string | null;
  min_mean?: number | null;
  max_regression?: number | null;
  /** How far any single case may drop below the baseline. */
  max_case_regression?: number | null;
  min_pass_at_k?: PassBound | null;
  min_pass_hat_k?: PassBound | null;
  max_error_rate?: number | null;
  /** Maximum 95th percentile of the cases' `duration_ms`. */
  max_p95_duration_ms?: number | null;
  /** Maximum mean cost of a case, by the traces of its results. */
  max_mean_cost_usd?: number | null;
  confident?: boolean | null;
};
export type Coverage = {
  expected_case_count: number | null;
  result_count: number;
  /** Number of results with an error. */
  error_count: number;
  /** By scorer name. */
  scorers: { [key: string]: ScorerCoverage };
};
export type GateCheck = {
  /** Index of its rule in the request. */
  rule: number;
  kind: "min_mean" | "max_regression" | "min_count" | "min_coverage" | "max_regressed_cases" | "max_case_regression" | "min_pass_at_k" | "min_pass_hat_k" | "max_error_rate" | "max_p95_duration_ms" | "max_mean_cost_usd";
  unit: "cases";
  status: "passed" | "failed" | "skipped";
  /** The version of the scorer whose scores count. */
  scorer_version: number | null;
  current_scorer_version: number | null;
  /** The version that scored the baseline. */
  baseline_scorer_version: number | null;
  judge_changed_count: number;
  changed_case_count: number;
  erased_count: number;
  late_count: number;
  baseline_late_count: number;
  /** Null if the check is not about scores. */
  scorer: string | null;
  /** The outcome in words. */
  reason: string;
  confident: boolean;
  actual: number | null;
  /** The lowest `actual` that passes, 0 or less for regressions. */
  bound: number;
  estimate: number | null;
  /** 95% confidence interval of the estimate. */
  confidence_interval: Interval | null;
};
/** Maps each scorer name to a number, a boolean (1 or 0), null, or `{score, metadata?, comment?, label?, scorer_id?, scorer_version?}`. */
export type Scores = { [key: string]: number | boolean | null | {
  score: number | boolean | null;
  metadata?: { [key: string]: unknown; } | null;
  comment?: string | null;
  label?: string | null;
  scorer_id?: string | null;
  scorer_version?: number | null;
} } | null;
export type ScoreDetail = {
  metadata?: unknown;
  scorer_version?: number;
  /** Truncated to 2,000 characters. */
  comment?: string;
  label?: string;
  scorer_id?: string;
};
export type ResultFields = {
  input?: unknown;
  expected?: unknown;
  metadata?: { [key: string]: unknown; } | null;
  tags?: string[] | null;
  output?: unknown;
  error?: unknown;
  scores?: Scores;
  trace_id?: string | null;
  trial_index?: number | null;
  case_id: string;
  dataset_record_id?: string | null;
  session_id?: string | null;
  duration_ms?: number | null;
  trial_group?: string | null;
};
export type BulkResultItem = {
  index: number;
  status_code: number;
  result: BulkResult;
} | {
  index: number;
  status_code: number;
  error: ProblemDetails;
};
export type KindOfSpan = "unspecified" | "internal" | "server" | "client" | "producer" | "consumer";
export type SpanEvent = {
  attributes: { [key: string]: unknown; };
  dropped_attributes_count: number;
  /** Time with nanoseconds. */
  timestamp: string;
  name: string;
};
export type SpanLink = {
  attributes: { [key: string]: unknown; };
  dropped_attributes_count: number;
  trace_id: string | null;
  span_id: string | null;
  /** W3C tracestate. */
  trace_state: string;
};
export type SpanStatus = {
  code: "unset" | "ok" | "error";
  message: string | null;
};
export type TraceFilter = {
  op: "eq" | "in" | "gte" | "lte";
  value: unknown;
  field: "model" | "root_name" | "status" | "service_name" | "agent_version" | "case_id" | "tag" | "user_id" | "environment" | "prompt_name" | "prompt_version" | "duration_ms" | "input_tokens" | "output_tokens" | "total_tokens" | "cost_usd" | "span_count" | "error_count" | "started_at";
};
export type TraceCoverage = {
  /** Results of the experiment. */
  results: number;
  /** Results that reference a trace. */
  with_trace: number;
  traces_found: number;
};
export type PassSummary = {
  k: number;
  /** 95% confidence interval, by bootstrap over cases (BCa). */
  pass_at_k_interval: Interval | null;
  /** 95% confidence interval, by bootstrap over cases (BCa). */
  pass_hat_k_interval: Interval | null;
  /** Number of cases in the estimates. */
  case_count: number;
  left_out_count: number;
  /** The version of the scorer whose scores count. */
  scorer_version: number | null;
  threshold: number;
  pass_at_k: number | null;
  pass_hat_k: number | null;
  reason: string | null;
  /** Whether the experiment has more than 10,000 results. */
  is_truncated: boolean;
};
/** A scorer of kind `code`, in JavaScript. */
export type ScriptDefinition = {
  /** Default: `javascript`. */
  language?: "javascript";
  source: string;
  /** Time limit of one run, in ms (default: `1000`). */
  timeout_ms?: number;
  /** Heap of the interpreter, in MiB (default: `32`). */
  memory_mb?: number;
};
/** A scorer of kind `code` that uses checks instead of a `source`. */
export type ChecksDefinition = {
  checks: (EqualsCheck | ContainsCheck | RegexCheck | JsonSchemaCheck | LevenshteinCheck | NumericRangeCheck | ToolCalledCheck | ToolOrderCheck | MaxStepsCheck | MaxDurationCheck | MaxCostCheck)[];
  aggregate?: "all" | "any" | "mean";
};
/** A scorer of kind `llm_judge`: a question to a language model. */
export type LlmDefinition = {
  /** Default: `llm`. */
  backend?: "llm" | null;
  prompt: string;
  output: OutputOfHumanDefinition;
  model?: string | null;
  reasoning?: boolean | null;
  samples?: number | null;
  temperature?: number | null;
};
/** A scorer of kind `llm_judge`: a classifier that chooses a value. */
export type ClassifierDefinition = {
  backend: "classifier";
  /** Without a prompt, the classifier sees the output. */
  prompt?: string | null;
  output: ChoiceOutput;
  model?: string | null;
  reasoning?: boolean | null;
  samples?: number | null;
  temperature?: number | null;
};
/** A scorer of kind `human`: a question to people. */
export type HumanDefinition = {
  /** Instructions for the people who score. */
  rubric: string;
  output: OutputOfHumanDefinition;
  min_annotations?: number | null;
};
export type StarterExample = {
  /** The answer of the judge, or the members of a person's score. */
  answer?: { [key: string]: unknown; };
  subject: StarterSubject;
  result: StarterResult;
};
export type ScoringResult = {
  /** Absent when the scorer abstained or failed. */
  score?: number;
  probabilities?: { [key: string]: number };
  answers?: { [key: string]: unknown; };
  elapsed_ms: number;
  preview_request?: unknown;
  trace_id?: string;
  session_id?: string;
  /** The result that was scored. */
  result_id?: string;
  /** The case of that result. */
  case_id?: string;
  /** The label of the scorer, or the choice of a judge. */
  choice?: string;
  confidence?: number;
  reasoning?: string;
  backend?: string;
  /** The model that answered, as its provider names it. */
  model?: string;
  judge_digest?: string;
  /** True if the scorer could not be shown all of the target. */
  is_truncated?: boolean;
  /** Why the target has no score. */
  error?: string;
  /** Cost of the judge, in US dollars, when known. */
  cost_usd?: number;
  /** SHA-256 of the request to the judge, in hexadecimal. */
  request_sha256?: string;
  /** Whether the result comes from cached answers of the judge. */
  is_cached?: boolean;
  samples?: SampleSpread;
};
/** Why it failed: `all_targets_failed`, `no_scores` (the scorer abstained from all targets that did not fail), `cancelled`, `budget_exceeded`, `deadline_exceeded`, `worker_lost` (workers crashed), `scorer_deleted`, `internal_error` (workers failed to execute the run). */
export type FailureCode = "all_targets_failed" | "no_scores" | "cancelled" | "budget_exceeded" | "deadline_exceeded" | "worker_lost" | "scorer_deleted" | "internal_error" | null;
export type BulkScore = {
  scorer_version?: number | null;
  trace_id?: string | null;
  result_version?: number | null;
  score?: number | boolean | null;
  answers?: { [key: string]: unknown; } | null;
  metadata?: { [key: string]: unknown; } | null;
  source?: "client" | "human" | "end_user" | null;
  workspace_id?: string;
  scorer_id?: string | null;
  scorer_name?: string | null;
  session_id?: string | null;
  result_id?: string | null;
  experiment_id?: string | null;
  label?: string | null;
  comment?: string | null;
  author?: string | null;
};
export type BulkScoreItem = {
  index: number;
  status_code: number;
  score: Score;
} | {
  index: number;
  status_code: number;
  error: ProblemDetails;
};
export type ScoreStatsRow = {
  /** One member for each item of `group_by`. */
  group: { [key: string]: string | number | null };
  values: ScoreStatsValues;
};
export type AnnotationSource = {
  /** Selects the traces that meet all of these conditions. */
  filters?: RuleFilter[] | null;
  /** Selects these traces. */
  trace_ids?: string[] | null;
  since?: string | null;
  /** Selects only items that started before this time (RFC 3339). */
  until?: string | null;
  /** Selects only the newest items. */
  limit?: number | null;
  experiment_id?: string | null;
};
export type QueueProgress = {
  item_count: number;
  /** Items that as many people as `scores_per_item` have scored. */
  completed_count: number;
  /** Items that someone currently has a claim on. */
  in_progress_count: number;
  skipped_count: number;
};
export type QueueScorerVersion = {
  scorer_version: number;
  scorer_id: string;
  /** Whether the scorer was deleted. */
  erased: boolean;
};
export type QueueScorerAgreement = {
  scorer_version: number;
  /** Number of items that at least two people have scored. */
  units: number;
  tie_count: number;
  scorer_id: string;
  name: string;
  /** Share of pairs of people who agree, averaged over the items. */
  observed_agreement: Measure | null;
  /** Krippendorff's alpha for categories: labels, else scores. */
  krippendorffs_alpha_nominal: Measure | null;
  krippendorffs_alpha_interval: Measure | null;
};
export type ClaimedItem = {
  input: unknown;
  output: unknown;
  /** Null unless the item is a result that has an expected value. */
  expected: unknown;
  /** When the claim ends. */
  claimed_until: string;
  /** Why the content cannot be shown. */
  content_error: string | null;
  item_id: string;
  trace_id: string | null;
  session_id: string | null;
  experiment_id: string | null;
  result_id: string | null;
  case_id: string | null;
};
export type QueueScorer = {
  scorer_version: number;
  /** The form of the answer, as in the scorer's definition. */
  output: { [key: string]: unknown; };
  scorer_id: string;
  name: string;
  description: string | null;
  /** Instructions for the people who score. */
  rubric: string;
};
export type ItemAnswer = {
  outcome: "scored" | "skipped";
  /** Why the person skipped the item. */
  reason: string | null;
  scores: AnsweredScore[];
  author: string | null;
  created_at: string;
  created_by: string;
};
export type ItemScore = {
  score?: number | boolean | null;
  answers?: { [key: string]: unknown; } | null;
  label?: string | null;
  comment?: string | null;
  /** A scorer of the queue. */
  scorer_id: string;
};
export type AnsweredScore = {
  scorer_id: string;
  score_id: string;
  score: number | null;
  label: string | null;
};
export type CategoryOfCreatePublisherItem = "agents" | "skills" | "tools" | "data" | "evaluation" | "other";
export type StoreSource = {
  kind: "release";
  /** The newest release. */
  release_id: string;
  /** The publisher's resource. */
  artifact_id?: string | null;
  /** True if the resource was deleted, else absent. */
  erased?: boolean;
};
export type PackageManifest = {
  schema_version: number;
  adapter: "native";
  adapter_version: number;
  format: "tar+gzip";
  actions: ("install" | "run" | "download" | "fork")[];
  /** The published resource. */
  root: ArtifactPin;
  components: PackageComponent[];
};
export type StorePolicy = {
  /** Increases with every change of the policy. */
  generation: number;
  audience: StoreAudience;
  is_listed: boolean;
  can_acquire: boolean;
};
export type AgentProfile = {
  max_step_count: number;
  capabilities: AgentCapability[];
  required_permissions: string[];
  dependencies: AgentDependency[];
  has_pinned_skills: boolean;
};
export type StoreItemsPageMeta = {
  limit: number;
  offset: number;
  /** The number of items of the organization. */
  total?: number | null;
};
export type PublishedArtifact = {
  kind: Kind;
  /** A resource in the workspace. */
  artifact_id: string;
  /** Defaults to the newest version. */
  version_id?: string | null;
};
export type SetStoreAudience = {
  /** The admitted organizations. */
  org_ids?: string[];
  /** Whether every organization is admitted. */
  is_public: boolean;
};
export type AcquiredCopy = {
  kind: Kind;
  version_ordinal: number;
  /** What the last acquisition or upgrade did to the copy. */
  change: "created" | "updated" | "unchanged";
  /** The id of the copy. */
  artifact_id: string;
  version_id: string;
  name: string;
  /** The key of the component in the package. */
  key: string;
  /** The publisher's resource. */
  source: ArtifactPin;
  setup: string | null;
};
export type Kind = "agent" | "skill" | "mcp_server" | "file" | "dataset" | "scorer";
export type FieldError = {
  /** JSON pointer (RFC 6901) into the body. */
  pointer?: string;
  /** Name of the query parameter, header or path parameter. */
  parameter?: string;
  detail: string;
};
export type PlannedChange = {
  before?: unknown;
  /** Absent if the value is free-form, long or secret. */
  after?: unknown;
  member: string;
};
export type NoneApiAuth = {
  type: "none";
  value?: null;
  name?: null;
};
export type BearerApiAuth = {
  type: "bearer";
  value: string;
  name?: null;
};
export type HeaderApiAuth = {
  type: "header";
  value: string;
  name: string;
};
export type BasicApiAuth = {
  type: "basic";
  value: string;
  name?: null;
};
export type QueryApiAuth = {
  type: "query";
  value: string;
  name: string;
};
export type SearchRanks = {
  keyword: number | null;
  vector: number | null;
};
/** Percentiles are exact: over all values, with linear interpolation (Hyndman & Fan, definition 7). */
export type Aggregation = "sum" | "avg" | "min" | "max" | "p50" | "p75" | "p90" | "p95" | "p99" | "count";
export type NoneServerAuth = {
  type: "none";
  value?: null;
  client_secret?: null;
  header?: null;
  token_url?: null;
  client_id?: null;
  scope?: null;
};
export type BearerServerAuth = {
  type: "bearer";
  value: string;
  client_secret?: null;
  header?: null;
  token_url?: null;
  client_id?: null;
  scope?: null;
};
export type HeaderServerAuth = {
  type: "header";
  value: string;
  client_secret?: null;
  /** The name of the header that carries `value`. */
  header: string;
  token_url?: null;
  client_id?: null;
  scope?: null;
};
export type OauthServerAuth = {
  type: "oauth";
  value?: null;
  /** The secret, which the type `oauth` requires. */
  client_secret: string;
  header?: null;
  token_url: string;
  /** The client id of the type `oauth`. */
  client_id: string;
  scope?: string | null;
};
export type HiddenCharacters = {
  /** The number of hidden characters, including repetitions. */
  count: number;
  /** The member of the tool. */
  member: string;
  /** The distinct characters, such as `U+200B`. */
  code_points: string[];
  pointers: string[];
};
export type ToolJsonChange = {
  op: "add" | "remove" | "replace";
  /** Absent for `add`. */
  before?: unknown;
  /** Absent for `remove`. */
  after?: unknown;
  pointer: string;
};
export type RegistryRepository = {
  url: string;
  source: string;
};
export type RegistryRemote = {
  type: "streamable-http" | "sse";
  variables?: { [key: string]: RegistryInput };
  url: string;
  headers?: RegistryHeader[];
};
export type RegistryServerMeta = { 'io.modelcontextprotocol.registry/publisher-provided': RegistrySource; };
export type RegistryOfficialMeta = {
  status: "active" | "deleted";
  statusChangedAt: string;
  publishedAt: string;
  updatedAt: string;
  isLatest: boolean;
};
export type TargetPrice = {
  input_usd_per_million: number;
  output_usd_per_million: number;
  /** For input that the provider read from its cache. */
  cached_input_usd_per_million?: number | null;
  /** For input that the provider wrote to its cache. */
  cache_write_usd_per_million?: number | null;
};
export type ProblemDetails = {
  status: number;
  /** Machine-readable code of the problem. */
  code: "invalid_query" | "invalid_request" | "invalid_base64" | "base_path_escaped" | "token_missing" | "token_malformed" | "token_rejected" | "token_expired" | "token_not_yet_valid" | "token_service_account_unbound" | "alg_mismatch" | "alg_not_allowed" | "audience_mismatch" | "invalid_api_key" | "missing_identity" | "missing_org" | "missing_user" | "signature_invalid" | "unauthorized" | "unknown_account" | "unknown_key" | "untrusted_issuer" | "access_denied" | "account_suspended" | "forbidden" | "platform_principal_refused" | "not_found" | "method_not_allowed" | "conflict" | "precondition_failed" | "payload_too_large" | "compressed_payload_too_large" | "unsupported_media_type" | "unsupported_content_encoding" | "range_not_satisfiable" | "validation_failed" | "immutable_field" | "rate_limited" | "internal_error" | "auth_unavailable" | "service_overloaded" | "service_unavailable" | "storage_unavailable" | "request_timeout";
  title: string;
  detail: string;
  /** The W3C trace id of the request. */
  trace_id?: string | null;
  errors?: FieldError[];
};
export type ScorerReference = {
  scorer_version: number;
  scorer_id: string;
};
export type SnapshotRecord = {
  version: number;
  dataset_record_id: string;
};
export type ComparedMean = {
  /** The version of the scorer. */
  scorer_version: number | null;
  current_scorer_version: number | null;
  /** Number of cases with a score. */
  count: number;
  scored_count: number;
  /** Number of expected cases with only deliberate nulls. */
  null_count: number;
  late_count: number;
  mean: number | null;
};
export type Interval = {
  lower: number;
  upper: number;
};
export type MeasureComparison = {
  unit: "cases";
  /** Number of cases for which both sides are known. */
  cases: number;
  candidate: MeasureMean;
  baseline: MeasureMean;
  difference: number | null;
  confidence_interval: Interval | null;
};
export type ComparedCase = {
  /** The input of its first result. */
  input: unknown;
  /** The expected output of its first result. */
  expected: unknown;
  outcome: "improved" | "regressed" | "unchanged" | "missing" | "changed";
  differences: { [key: string]: number | null };
  /** Number of trials. */
  candidate_count: number;
  baseline_count: number;
  /** The `case_id` of its first result. */
  case_id: string;
  dataset_record_id: string | null;
  trial_group: string | null;
  difference: number | null;
  candidate: ComparedResult[];
  baseline: ComparedResult[];
};
export type PassBound = {
  /** The number of trials. */
  k: number;
  /** The lowest score of a trial that passes (default: `1`). */
  threshold?: number | null;
  /** The lowest value that passes. */
  value: number;
};
export type ScorerCoverage = {
  /** Cases with a score. */
  scored_count: number;
  /** Cases with a deliberate null. */
  null_count: number;
};
export type BulkResult = {
  metadata: { [key: string]: unknown; };
  dataset_record_version: number | null;
  output: unknown;
  error: unknown;
  scores: { [key: string]: number | null };
  score_details: { [key: string]: ScoreDetail };
  trial_index: number | null;
  version: number;
  /** Always null: results cannot be archived. */
  archived_at: null;
  result_id: string;
  experiment_id: string;
  workspace_id: string;
  case_id: string;
  tags: string[];
  dataset_record_id: string | null;
  trace_id: string | null;
  session_id: string | null;
  duration_ms: number | null;
  trial_group: string | null;
  erased: boolean;
  created_at: string;
  updated_at: string;
  created_by: string;
  /** Present only if the item in the request has it. */
  input?: unknown;
  /** Present only if the item in the request has it. */
  expected?: unknown;
};
/** Passes if both values are the same JSON value. */
export type EqualsCheck = {
  type: "equals";
  name?: string;
  negate?: boolean;
  path?: string;
  value?: unknown;
  expected_path?: string;
  case_sensitive?: boolean;
};
/** Passes if the checked value contains `value`: as part of a text, as an item of a list, or as members of an object. */
export type ContainsCheck = {
  type: "contains";
  name?: string;
  negate?: boolean;
  path?: string;
  value?: unknown;
  expected_path?: string;
  case_sensitive?: boolean;
  /** Several values instead of `value`. */
  values?: unknown[];
  /** How many of `values` must be contained (default: `all`). */
  match?: "all" | "any";
};
/** Passes if the pattern matches anywhere in the text. */
export type RegexCheck = {
  type: "regex";
  name?: string;
  negate?: boolean;
  path?: string;
  /** JavaScript syntax without lookaround and backreferences. */
  pattern: string;
  /** Any of `i`, `m`, `s` and `u`. */
  flags?: string | null;
};
/** Passes if the value is valid under `schema`. */
export type JsonSchemaCheck = {
  type: "json_schema";
  name?: string;
  negate?: boolean;
  path?: string;
  /** JSON Schema 2020-12. */
  schema: { [key: string]: unknown; } | boolean;
  /** First parses the value, which must be a text, as JSON. */
  parse_json?: boolean;
};
/** Compares two texts by their similarity: 1 minus the number of edits divided by the length of the longer text. */
export type LevenshteinCheck = {
  type: "levenshtein";
  name?: string;
  negate?: boolean;
  path?: string;
  value?: unknown;
  expected_path?: string;
  case_sensitive?: boolean;
  /** Lowest similarity that passes. */
  threshold?: number;
};
/** Passes if a number, or a text that is a number, is from `min` to `max`. */
export type NumericRangeCheck = {
  type: "numeric_range";
  name?: string;
  negate?: boolean;
  path?: string;
  min?: number;
  /** Not below `min`. */
  max?: number;
};
/** Passes if each tool was called `min` to `max` times. */
export type ToolCalledCheck = {
  type: "tool_called";
  name?: string;
  negate?: boolean;
  /** One tool. */
  tool?: string;
  /** Several tools. */
  tools?: string[];
  /** 1 by default, or 0 if `max` is 0. */
  min?: number;
  /** Not below `min`. */
  max?: number;
  /** Counts only calls whose arguments include these members. */
  arguments?: { [key: string]: unknown; };
};
/** Passes if the tools were called in this order. */
export type ToolOrderCheck = {
  type: "tool_order";
  name?: string;
  negate?: boolean;
  /** In the order in which their spans start. */
  tools: string[];
  mode?: "subsequence" | "exact";
};
/** Passes if the trace has at most `max` model calls and tool calls. */
export type MaxStepsCheck = {
  type: "max_steps";
  name?: string;
  negate?: boolean;
  max: number;
  /** Counts only model calls, or only tool calls. */
  count?: "model" | "tool";
};
/** Passes if the trace took at most `max` ms. */
export type MaxDurationCheck = {
  type: "max_duration_ms";
  name?: string;
  negate?: boolean;
  max: number;
};
/** Passes if the trace cost at most `max` US dollars. */
export type MaxCostCheck = {
  type: "max_cost_usd";
  name?: string;
  negate?: boolean;
  max: number;
};
export type OutputOfHumanDefinition = ChoiceOutput | BooleanOutput | NumericOutput | QuestionsOutput;
/** One of several values. */
export type ChoiceOutput = {
  type: "choice";
  choices: Choice[];
};
export type StarterSubject = {
  input: unknown;
  output: unknown;
  expected: unknown;
  metadata: unknown;
  trace: unknown;
  session: unknown;
};
export type StarterResult = { score: number; };
export type SampleSpread = {
  /** Number of samples requested from the judge. */
  count: number;
  /** Number of samples that failed. */
  failed_count: number;
  /** The score of each successful sample, in order. */
  scores: number[];
  spread: number | null;
};
export type ScoreStatsValues = {
  /** Number of scores that are not null. */
  count: number;
  null_count: number;
  /** Null, like the members below, without scores. */
  mean: number | null;
  /** Share of the scores that are at least `pass_score`. */
  pass_rate: number | null;
  min: number | null;
  p10: number | null;
  p25: number | null;
  p50: number | null;
  p75: number | null;
  p90: number | null;
  p95: number | null;
  p99: number | null;
  max: number | null;
};
export type ArtifactPin = {
  kind: Kind;
  version_ordinal: number;
  artifact_id: string;
  version_id: string;
  /** The release that the publisher acquired the resource from. */
  release_id?: string | null;
};
export type PackageComponent = {
  key: string;
  source: ArtifactPin;
  /** The first component that depends on this one. */
  parent_key?: string | null;
};
export type StoreAudience = {
  /** Whether every organization is admitted. */
  is_public: boolean;
  /** The admitted organizations. */
  org_ids?: string[];
};
export type AgentCapability = {
  kind: "tool" | "skill";
  name: string;
};
export type AgentDependency = {
  version_ordinal: number;
  skill_id: string;
  /** SHA-256 over the files of the skill, in hexadecimal. */
  source_digest: string;
};
export type RegistryInput = {
  description?: string;
  isRequired: boolean;
  isSecret: boolean;
};
export type RegistryHeader = {
  variables?: { [key: string]: RegistryInput };
  name: string;
  /** A template with variables in braces. */
  value?: string;
  description?: string;
  isRequired: boolean;
  isSecret: boolean;
};
export type RegistrySource = {
  server_id: string;
  workspace_id: string;
  version_id: string;
  /** Null for a server that was not imported. */
  imported_from: RegistryOrigin | null;
};
export type MeasureMean = {
  /** Number of these cases. */
  count: number;
  mean: number | null;
};
export type ComparedResult = {
  output: unknown;
  error: unknown;
  scores: { [key: string]: number | null };
  score_details: { [key: string]: ScoreReason };
  input_tokens: number | null;
  output_tokens: number | null;
  trial_index: number | null;
  result_id: string;
  case_id: string;
  /** Whether its content was erased. */
  erased: boolean;
  trace_id: string | null;
  session_id: string | null;
  duration_ms: number | null;
  /** Cost of its trace; null if it is unknown. */
  cost_usd: number | null;
};
/** True or false. */
export type BooleanOutput = { type: "boolean"; };
/** A number from `min` to `max`, which is the score. */
export type NumericOutput = {
  type: "numeric";
  min: number;
  /** Greater than `min`. */
  max: number;
};
/** Several questions, each with its own output. */
export type QuestionsOutput = {
  type: "questions";
  questions: Question[];
};
/** One of the values to choose from. */
export type Choice = {
  /** Unique among the choices. */
  value: string;
  /** The score for this choice. */
  score: number;
  description?: string | null;
};
export type RegistryOrigin = {
  name: string;
  version: string;
};
export type ScoreReason = {
  label?: string;
  comment?: string;
};
/** One of several questions. */
export type Question = {
  /** Unique among the questions. */
  key: string;
  question: string;
  output: ChoiceOutput | BooleanOutput | NumericOutput;
};

/** Every operation of the service. Members of the path and the query are members of `request`; a body is its `body`. */
export interface Operations {
  /** Check whether the process is alive. */
  getLiveness(request?: {}, options?: RequestOptions): ApiPromise<Health>;
  /** Check whether the process is ready. */
  getReadiness(request?: {}, options?: RequestOptions): ApiPromise<Health>;
  /** Get the caller's identity, organization, roles and workspaces. */
  getMe(request?: {}, options?: RequestOptions): ApiPromise<Me>;
  /** Get the caller's organization. */
  getOwnOrg(request?: {}, options?: RequestOptions): ApiPromise<Org>;
  /** Change the caller's organization. */
  updateOwnOrg(request: {
    body: PatchOrg;
  }, options?: RequestOptions): ApiPromise<Org>;
  /** Delete the caller's organization, with everything in it. */
  deleteOwnOrg(request?: {}, options?: RequestOptions): ApiPromise<Erasure>;
  /** Create an organization. */
  createOrg(request: {
    body: CreateOrg;
  }, options?: RequestOptions): ApiPromise<Org>;
  /** List organizations. */
  listOrgs(request?: Paging & {
    /** The member to sort by, in ascending order. */
    sort?: "created_at" | "-created_at" | "updated_at" | "-updated_at";
    /** Only items created at or after this time (RFC 3339). */
    since?: string | Date;
    /** Only items created before this time (RFC 3339). */
    until?: string | Date;
    status?: "active" | "suspended";
    /** Only organizations with this name. */
    name?: string;
    /** Includes archived items, if the items of the list can be archived. */
    include_archived?: boolean;
  }, options?: RequestOptions): Pages<Org>;
  /** Get an organization. */
  getOrg(request: {
    org_id: string;
  }, options?: RequestOptions): ApiPromise<Org>;
  /** Change, suspend or reinstate an organization. */
  updateOrg(request: {
    org_id: string;
    body: PatchAnyOrg;
  }, options?: RequestOptions): ApiPromise<Org>;
  /** Delete an organization, with everything in it. */
  deleteOrg(request: {
    org_id: string;
  }, options?: RequestOptions): ApiPromise<Erasure>;
  /** Add a user to the organization. */
  createUser(request: {
    body: CreateUser;
  }, options?: RequestOptions): ApiPromise<User>;
  /** List the users of the organization. */
  listUsers(request?: Paging & {
    /** The member to sort by, in ascending order. */
    sort?: "created_at" | "-created_at" | "updated_at" | "-updated_at";
    /** Only items created at or after this time (RFC 3339). */
    since?: string | Date;
    /** Only items created before this time (RFC 3339). */
    until?: string | Date;
    /** Words or word prefixes in the id, name or email. */
    q?: string;
    status?: "active" | "suspended";
    /** Includes archived items, if the items of the list can be archived. */
    include_archived?: boolean;
  }, options?: RequestOptions): Pages<User>;
  /** Get a user. */
  getUser(request: {
    user_id: string;
  }, options?: RequestOptions): ApiPromise<User>;
  /** Change, suspend or reinstate a user. */
  updateUser(request: {
    user_id: string;
    body: PatchUser;
  }, options?: RequestOptions): ApiPromise<User>;
  /** Delete a user. */
  deleteUser(request: {
    user_id: string;
  }, options?: RequestOptions): ApiPromise<void>;
  /** Create a workspace. */
  createWorkspace(request: {
    body: CreateWorkspace;
  }, options?: RequestOptions): ApiPromise<Workspace>;
  /** List the workspaces that the caller may read. */
  listWorkspaces(request?: Paging & {
    /** The member to sort by, in ascending order. */
    sort?: "created_at" | "-created_at" | "updated_at" | "-updated_at" | "name" | "-name";
    /** Only items created at or after this time (RFC 3339). */
    since?: string | Date;
    /** Only items created before this time (RFC 3339). */
    until?: string | Date;
    /** Words or word prefixes in the name or description. */
    q?: string;
    /** Only the workspace with this name. */
    name?: string;
    /** Includes archived items, if the items of the list can be archived. */
    include_archived?: boolean;
  }, options?: RequestOptions): Pages<Workspace>;
  /** Get a workspace. */
  getWorkspace(request: {
    workspace_id: string;
  }, options?: RequestOptions): ApiPromise<Workspace>;
  /** Change a workspace. */
  updateWorkspace(request: {
    workspace_id: string;
    body: PatchWorkspace;
  }, options?: RequestOptions): ApiPromise<Workspace>;
  /** Delete an archived workspace, with everything in it. */
  deleteWorkspace(request: {
    workspace_id: string;
    /** Deletes the resource even if something refers to it. */
    force?: boolean;
  }, options?: RequestOptions): ApiPromise<Erasure>;
  /** Archive a workspace. */
  archiveWorkspace(request: {
    workspace_id: string;
  }, options?: RequestOptions): ApiPromise<Workspace>;
  /** Restore an archived workspace. */
  restoreWorkspace(request: {
    workspace_id: string;
  }, options?: RequestOptions): ApiPromise<Workspace>;
  /** List the members of a workspace. */
  listMembers(request: Paging & {
    workspace_id: string;
    /** The member to sort by, in ascending order. */
    sort?: "principal_id" | "-principal_id";
    /** Only items created at or after this time (RFC 3339). */
    since?: string | Date;
    /** Only items created before this time (RFC 3339). */
    until?: string | Date;
    /** Includes archived items, if the items of the list can be archived. */
    include_archived?: boolean;
  }, options?: RequestOptions): Pages<Member>;
  /** Get a member of a workspace. */
  getMember(request: {
    workspace_id: string;
    principal_id: string;
  }, options?: RequestOptions): ApiPromise<Member>;
  /** Set the roles of a principal in a workspace. */
  setMember(request: {
    workspace_id: string;
    principal_id: string;
    body: PutMember;
  }, options?: RequestOptions): ApiPromise<Member>;
  /** Remove a member from a workspace. */
  removeMember(request: {
    workspace_id: string;
    principal_id: string;
  }, options?: RequestOptions): ApiPromise<void>;
  /** Create a service account. */
  createServiceAccount(request: {
    body: CreateServiceAccount;
  }, options?: RequestOptions): ApiPromise<ServiceAccount>;
  /** List service accounts. */
  listServiceAccounts(request?: Paging & {
    /** The member to sort by, in ascending order. */
    sort?: "created_at" | "-created_at" | "updated_at" | "-updated_at" | "name" | "-name";
    /** Only items created at or after this time (RFC 3339). */
    since?: string | Date;
    /** Only items created before this time (RFC 3339). */
    until?: string | Date;
    /** Words or word prefixes in the name or description. */
    q?: string;
    /** Only the service account with this name. */
    name?: string;
    status?: "active" | "suspended";
    /** Only service accounts whose `workspace_ids` contain this workspace or `*`. */
    workspace_id?: string;
    /** Includes archived items, if the items of the list can be archived. */
    include_archived?: boolean;
  }, options?: RequestOptions): Pages<ServiceAccount>;
  /** Get a service account. */
  getServiceAccount(request: {
    service_account_id: string;
  }, options?: RequestOptions): ApiPromise<ServiceAccount>;
  /** Change, suspend or reinstate a service account. */
  updateServiceAccount(request: {
    service_account_id: string;
    body: PatchServiceAccount;
  }, options?: RequestOptions): ApiPromise<ServiceAccount>;
  /** Delete an archived service account. */
  deleteServiceAccount(request: {
    service_account_id: string;
    /** Deletes the resource even if something refers to it. */
    force?: boolean;
  }, options?: RequestOptions): ApiPromise<void>;
  /** Archive a service account, which disables its keys. */
  archiveServiceAccount(request: {
    service_account_id: string;
  }, options?: RequestOptions): ApiPromise<ServiceAccount>;
  /** Restore an archived service account and its keys, except revoked ones. */
  restoreServiceAccount(request: {
    service_account_id: string;
  }, options?: RequestOptions): ApiPromise<ServiceAccount>;
  /** Create an API key, which is shown only once. */
  createApiKey(request: {
    service_account_id: string;
    body: CreateApiKey;
  }, options?: RequestOptions): ApiPromise<ApiKey & { key: string; }>;
  /** List the API keys of a service account. */
  listApiKeys(request: Paging & {
    service_account_id: string;
    /** The member to sort by, in ascending order. */
    sort?: "created_at" | "-created_at" | "updated_at" | "-updated_at" | "name" | "-name";
    /** Only items created at or after this time (RFC 3339). */
    since?: string | Date;
    /** Only items created before this time (RFC 3339). */
    until?: string | Date;
    /** Only keys with this name. */
    name?: string;
    /** Includes archived items, if the items of the list can be archived. */
    include_archived?: boolean;
  }, options?: RequestOptions): Pages<ApiKey>;
  /** Get an API key, without the key itself. */
  getApiKey(request: {
    service_account_id: string;
    key_id: string;
  }, options?: RequestOptions): ApiPromise<ApiKey>;
  /** Delete a revoked API key. */
  deleteApiKey(request: {
    service_account_id: string;
    key_id: string;
  }, options?: RequestOptions): ApiPromise<void>;
  /** Revoke an API key and the tokens it was exchanged for. */
  revokeApiKey(request: {
    service_account_id: string;
    key_id: string;
  }, options?: RequestOptions): ApiPromise<ApiKey>;
  /** Exchange an API key for a token (OAuth 2.0 client credentials). */
  exchangeToken(request: {
    body: TokenRequest | RawBody;
  }, options?: RequestOptions): ApiPromise<Token>;
  /** Revoke the caller's token or, as an admin, any token of the organization. */
  revokeToken(request: {
    body: RevokeToken | RawBody;
  }, options?: RequestOptions): ApiPromise<RevokedToken>;
  /** Get the public keys that verify this service's tokens and organizations' signatures. */
  getJwks(request?: {}, options?: RequestOptions): ApiPromise<Jwks>;
  /** Get the metadata of this service as an OAuth 2.0 authorization server (RFC 8414). */
  getAuthorizationServer(request?: {}, options?: RequestOptions): ApiPromise<AuthorizationServer>;
  /** Create a signing key, which the organization uses from then on. */
  createSigningKey(request?: {
    body?: CreateSigningKey;
  }, options?: RequestOptions): ApiPromise<SigningKey>;
  /** List the signing keys of the organization. */
  listSigningKeys(request?: Paging & {
    /** The member to sort by, in ascending order. */
    sort?: "created_at" | "-created_at";
    /** Only items created at or after this time (RFC 3339). */
    since?: string | Date;
    /** Only items created before this time (RFC 3339). */
    until?: string | Date;
    /** Only keys with this name. */
    name?: string;
  }, options?: RequestOptions): Pages<SigningKey>;
  /** Get a signing key, without its private key. */
  getSigningKey(request: {
    kid: string;
  }, options?: RequestOptions): ApiPromise<SigningKey>;
  /** Revoke a signing key. */
  revokeSigningKey(request: {
    kid: string;
  }, options?: RequestOptions): ApiPromise<SigningKey>;
  /** Declare an app, which the next reconcile applies. */
  createApp(request: {
    /** What to do if the name is taken. */
    on_conflict?: "error" | "return" | "update";
    body: CreateApp;
  }, options?: RequestOptions): ApiPromise<App>;
  /** List apps. */
  listApps(request?: Paging & {
    /** The member to sort by, in ascending order. */
    sort?: "created_at" | "-created_at" | "updated_at" | "-updated_at" | "app" | "-app";
    /** Only items created at or after this time (RFC 3339). */
    since?: string | Date;
    /** Only items created before this time (RFC 3339). */
    until?: string | Date;
    /** Only apps of this workspace. */
    workspace_id?: string;
    /** Words or word prefixes in the slug, display name or description. */
    q?: string;
    /** Only apps with this slug. */
    app?: string;
    /** The same as `app`, because the slug is the name of an app. */
    name?: string;
    sync_state?: "pending" | "synced" | "failed";
    /** Includes archived items, if the items of the list can be archived. */
    include_archived?: boolean;
  }, options?: RequestOptions): Pages<App>;
  /** Get an app by its slug or its id. */
  getApp(request: {
    app: string;
  }, options?: RequestOptions): ApiPromise<App>;
  /** Change an app. */
  updateApp(request: {
    app: string;
    body: PatchApp;
  }, options?: RequestOptions): ApiPromise<App>;
  /** Delete an archived app. */
  deleteApp(request: {
    app: string;
    /** Deletes the resource even if something refers to it. */
    force?: boolean;
  }, options?: RequestOptions): ApiPromise<void>;
  /** Reconcile an app: create, restore, update and archive its resources in one transaction. */
  reconcileApp(request: {
    app: string;
  }, options?: RequestOptions): ApiPromise<ReconcileResult>;
  /** Show what a reconcile of an app would do now, without doing it. */
  planApp(request: {
    app: string;
  }, options?: RequestOptions): ApiPromise<AppPlan>;
  /** Archive an app. */
  archiveApp(request: {
    app: string;
  }, options?: RequestOptions): ApiPromise<App>;
  /** Restore an archived app. */
  restoreApp(request: {
    app: string;
  }, options?: RequestOptions): ApiPromise<App>;
  /** Register an HTTP API. */
  createApi(request: {
    body: CreateApi;
  }, options?: RequestOptions): ApiPromise<Api>;
  /** List registered APIs. */
  listApis(request?: Paging & {
    /** The member to sort by, in ascending order. */
    sort?: "created_at" | "-created_at" | "updated_at" | "-updated_at" | "name" | "-name";
    /** Only items created at or after this time (RFC 3339). */
    since?: string | Date;
    /** Only items created before this time (RFC 3339). */
    until?: string | Date;
    /** Only resources of this workspace. */
    workspace_id?: string;
    /** Only the resources with this name. */
    name?: string;
    /** Only resources in this state. */
    sync_state?: "unmanaged" | "pending" | "synced" | "drifted" | "failed";
    /** Only resources that this app declares. */
    app?: string;
    /** Words or word prefixes in the name, the base URL, or the description. */
    q?: string;
    /** Includes archived items, if the items of the list can be archived. */
    include_archived?: boolean;
  }, options?: RequestOptions): Pages<Api>;
  /** Get a registered API. */
  getApi(request: {
    api_id: string;
  }, options?: RequestOptions): ApiPromise<Api>;
  /** Change a registered API. */
  updateApi(request: {
    api_id: string;
    body: PatchApi;
  }, options?: RequestOptions): ApiPromise<Api>;
  /** Delete an archived registered API. */
  deleteApi(request: {
    api_id: string;
    /** Deletes the resource even if something refers to it. */
    force?: boolean;
  }, options?: RequestOptions): ApiPromise<void>;
  /** List the versions of a registered API. */
  listApiVersions(request: Paging & {
    api_id: string;
    /** The member to sort by, in ascending order. */
    sort?: "created_at" | "-created_at";
    /** Only items created at or after this time (RFC 3339). */
    since?: string | Date;
    /** Only items created before this time (RFC 3339). */
    until?: string | Date;
    /** Includes archived items, if the items of the list can be archived. */
    include_archived?: boolean;
  }, options?: RequestOptions): Pages<ApiVersion>;
  /** Get one version of a registered API. */
  getApiVersion(request: {
    api_id: string;
    version_ordinal: string | number;
  }, options?: RequestOptions): ApiPromise<ApiVersion>;
  /** Delete a version of a registered API. */
  deleteApiVersion(request: {
    api_id: string;
    version_ordinal: string | number;
    /** Deletes the resource even if something refers to it. */
    force?: boolean;
  }, options?: RequestOptions): ApiPromise<void>;
  /** Archive a registered API and delete its secret. */
  archiveApi(request: {
    api_id: string;
  }, options?: RequestOptions): ApiPromise<Api>;
  /** Restore an archived API, without its deleted secret. */
  restoreApi(request: {
    api_id: string;
  }, options?: RequestOptions): ApiPromise<Api>;
  /** Register a repository. */
  createRepo(request: {
    body: CreateRepo;
  }, options?: RequestOptions): ApiPromise<Repo>;
  /** List repositories. */
  listRepos(request?: Paging & {
    /** The member to sort by, in ascending order. */
    sort?: "created_at" | "-created_at" | "updated_at" | "-updated_at" | "name" | "-name";
    /** Only items created at or after this time (RFC 3339). */
    since?: string | Date;
    /** Only items created before this time (RFC 3339). */
    until?: string | Date;
    /** Only repositories of this workspace. */
    workspace_id?: string;
    /** Words or word prefixes in the name, URL or description. */
    q?: string;
    /** Only repositories with this name. */
    name?: string;
    /** Only the repository with this URL, in any form. */
    url?: string;
    /** Includes archived items, if the items of the list can be archived. */
    include_archived?: boolean;
  }, options?: RequestOptions): Pages<Repo>;
  /** Get a repository. */
  getRepo(request: {
    repo_id: string;
  }, options?: RequestOptions): ApiPromise<Repo>;
  /** Change a repository. */
  updateRepo(request: {
    repo_id: string;
    body: PatchRepo;
  }, options?: RequestOptions): ApiPromise<Repo>;
  /** Delete an archived repository. */
  deleteRepo(request: {
    repo_id: string;
    /** Deletes the resource even if something refers to it. */
    force?: boolean;
  }, options?: RequestOptions): ApiPromise<void>;
  /** Archive a repository. */
  archiveRepo(request: {
    repo_id: string;
  }, options?: RequestOptions): ApiPromise<Repo>;
  /** Restore an archived repository. */
  restoreRepo(request: {
    repo_id: string;
  }, options?: RequestOptions): ApiPromise<Repo>;
  /** List the audit entries of the workspaces that the caller administers. */
  listAuditEntries(request?: Paging & {
    /** The member to sort by, in ascending order. */
    sort?: "created_at" | "-created_at";
    /** Only items created at or after this time (RFC 3339). */
    since?: string | Date;
    /** Only items created before this time (RFC 3339). */
    until?: string | Date;
    /** Only entries of this workspace. */
    workspace_id?: string;
    /** Only entries of this principal. */
    principal_id?: string;
    action?: "create" | "update" | "archive" | "restore" | "delete" | "revoke" | "reconcile" | "call";
    resource_type?: "org" | "user" | "workspace" | "member" | "service_account" | "api_key" | "token" | "signing_key" | "app" | "repo" | "api" | "model_provider" | "model" | "gateway_key" | "model_budget" | "file" | "skill" | "mcp_server" | "tool" | "agent" | "trace" | "dataset" | "dataset_version" | "record" | "experiment" | "result" | "scorer" | "scoring_rule" | "score" | "annotation_queue" | "store_item" | "acquisition" | "erasure";
    /** Only entries of this resource. */
    resource_id?: string;
  }, options?: RequestOptions): Pages<AuditEntry>;
  /** Erase an end user, a session, a workspace or the organization. */
  createErasure(request: {
    body: CreateErasure;
  }, options?: RequestOptions): ApiPromise<Erasure>;
  /** List the erasures of the workspaces that the caller administers. */
  listErasures(request?: Paging & {
    /** The member to sort by, in ascending order. */
    sort?: "created_at" | "-created_at";
    /** Only items created at or after this time (RFC 3339). */
    since?: string | Date;
    /** Only items created before this time (RFC 3339). */
    until?: string | Date;
    /** Only erasures in this workspace. */
    workspace_id?: string;
    subject_kind?: "end_user" | "session" | "workspace" | "org" | "dataset" | "experiment" | "traces";
    /** Only erasures of this subject. */
    subject_id?: string;
    erasure_status?: "queued" | "running" | "succeeded";
  }, options?: RequestOptions): Pages<Erasure>;
  /** Get an erasure: its progress, and in the end its receipt. */
  getErasure(request: {
    erasure_id: string;
  }, options?: RequestOptions): ApiPromise<Erasure>;
  /** Search by keywords, by embeddings, or by both. */
  searchRegistry(request: {
    body: Search;
  }, options?: RequestOptions): ApiPromise<SearchPage>;
  /** Get what the organization uses of its quotas. */
  getUsage(request?: {}, options?: RequestOptions): ApiPromise<Usage>;
  /** Delete many traces. */
  deleteTraces(request: {
    body: TraceDeletion;
  }, options?: RequestOptions): ApiPromise<Erasure>;
  /** Check which traces have arrived. */
  checkTraces(request: {
    body: TraceExistenceQuery;
  }, options?: RequestOptions): ApiPromise<TraceExistence>;
  /** Compute statistics of the workspace's traces. */
  queryTraceStats(request?: {
    body?: TelemetryTraceStatsQuery;
  }, options?: RequestOptions): ApiPromise<TelemetryTraceStats>;
  /** Compute statistics of the workspace's spans. */
  querySpanStats(request?: {
    body?: SpanStatsQuery;
  }, options?: RequestOptions): ApiPromise<TelemetryTraceStats>;
  /** Ingest traces (OTLP/HTTP). */
  ingestTraces(request: {
    body: { [key: string]: unknown; } | RawBody;
  }, options?: RequestOptions): ApiPromise<ExportTraceResponse>;
  /** List traces, by default newest first. */
  listTraces(request?: Paging & {
    /** Includes archived items, if the items of the list can be archived. */
    include_archived?: boolean;
    /** Inclusive lower bound (RFC 3339) of `started_at` of a trace, `last_started_at` of a session, `logged_at` of a log record, or `measured_at` of a data point. */
    since?: string | Date;
    /** Exclusive upper bound (RFC 3339) of the same time. */
    until?: string | Date;
    user_id?: string;
    /** `deployment.environment.name` of the resource. */
    environment?: string;
    /** One of the tags of the trace. */
    tag?: string;
    prompt_name?: string;
    prompt_version?: string;
    /** `started_at`, `duration_ms`, `cost_usd` or `score:<scorer>`, where `<scorer>` is the name of a scorer. */
    sort?: string;
    /** `<scorer>:<gte|lte|eq>:<number>`: the trace has a current score by the scorer that meets the condition. */
    score?: string[];
    /** `error`: at least one span has an error. */
    status?: "ok" | "error";
    /** `key:value` of an attribute of a span or of its resource. */
    attribute?: string[];
    /** Only scores from this source count for `score` and for a sort by a score. */
    score_source?: "client" | "hosted" | "human" | "end_user";
    session_id?: string;
    service_name?: string;
    root_name?: string;
    /** `gen_ai.agent.version` of an agent's span, else `service.version`. */
    agent_version?: string;
    /** Model of at least one span. */
    model?: string;
    /** Minimum duration in milliseconds. */
    min_duration_ms?: number;
    /** Maximum duration in milliseconds. */
    max_duration_ms?: number;
    /** Text that the name of a span, or the input or output of the root span, must contain. */
    q?: string;
  }, options?: RequestOptions): Pages<ScoredTrace>;
  /** Get a trace with the tree of its first 1,000 spans. */
  getTrace(request: {
    trace_id: string;
  }, options?: RequestOptions): ApiPromise<TraceTree>;
  /** Delete a trace with its spans, log records and scores. */
  deleteTrace(request: {
    trace_id: string;
    /** Deletes the trace even if an open scoring run, batch or annotation queue uses it. */
    force?: boolean;
  }, options?: RequestOptions): ApiPromise<void>;
  /** List the spans of a trace, by start time. */
  listSpans(request: Paging & {
    trace_id: string;
    /** The member to sort by, in ascending order. */
    sort?: "started_at" | "-started_at";
    /** Includes archived items, if the items of the list can be archived. */
    include_archived?: boolean;
  }, options?: RequestOptions): Pages<TelemetrySpan>;
  /** Export all spans of a trace, by start time. */
  exportSpans(request: {
    trace_id: string;
    /** JSON Lines: one span per line. */
    format?: "jsonl";
  }, options?: RequestOptions): ApiPromise<Response>;
  /** List sessions by their last trace, newest first. */
  listSessions(request?: Paging & {
    /** The member to sort by, in ascending order. */
    sort?: "last_started_at" | "-last_started_at";
    /** Includes archived items, if the items of the list can be archived. */
    include_archived?: boolean;
    /** Inclusive lower bound (RFC 3339) of `started_at` of a trace, `last_started_at` of a session, `logged_at` of a log record, or `measured_at` of a data point. */
    since?: string | Date;
    /** Exclusive upper bound (RFC 3339) of the same time. */
    until?: string | Date;
    user_id?: string;
    /** `deployment.environment.name` of the resource. */
    environment?: string;
    /** One of the tags of the trace. */
    tag?: string;
    prompt_name?: string;
    prompt_version?: string;
  }, options?: RequestOptions): Pages<Session>;
  /** Get a session. */
  getSession(request: {
    /** The session id that the agent sends, percent-encoded. */
    session_id: string;
  }, options?: RequestOptions): ApiPromise<Session>;
  /** List a session's traces, newest first. */
  listSessionTraces(request: Paging & {
    /** The member to sort by, in ascending order. */
    sort?: "started_at" | "-started_at";
    /** Includes archived items, if the items of the list can be archived. */
    include_archived?: boolean;
    /** Inclusive lower bound (RFC 3339) of `started_at` of a trace, `last_started_at` of a session, `logged_at` of a log record, or `measured_at` of a data point. */
    since?: string | Date;
    /** Exclusive upper bound (RFC 3339) of the same time. */
    until?: string | Date;
    user_id?: string;
    /** `deployment.environment.name` of the resource. */
    environment?: string;
    /** One of the tags of the trace. */
    tag?: string;
    prompt_name?: string;
    prompt_version?: string;
    /** The session id that the agent sends, percent-encoded. */
    session_id: string;
  }, options?: RequestOptions): Pages<ScoredTrace>;
  /** List a session's messages and tool calls, oldest first, each once. */
  listSessionTranscript(request: Paging & {
    /** Inclusive lower bound (RFC 3339) of `started_at` of a trace, `last_started_at` of a session, `logged_at` of a log record, or `measured_at` of a data point. */
    since?: string | Date;
    /** Exclusive upper bound (RFC 3339) of the same time. */
    until?: string | Date;
    /** The session id that the agent sends, percent-encoded. */
    session_id: string;
  }, options?: RequestOptions): Pages<TranscriptItem>;
  /** Ingest logs (OTLP/HTTP). */
  ingestLogs(request: {
    body: { [key: string]: unknown; } | RawBody;
  }, options?: RequestOptions): ApiPromise<ExportLogsResponse>;
  /** List log records, newest first. */
  listLogs(request?: Paging & {
    /** The member to sort by, in ascending order. */
    sort?: "logged_at" | "-logged_at";
    /** Includes archived items, if the items of the list can be archived. */
    include_archived?: boolean;
    /** Inclusive lower bound (RFC 3339) of `started_at` of a trace, `last_started_at` of a session, `logged_at` of a log record, or `measured_at` of a data point. */
    since?: string | Date;
    /** Exclusive upper bound (RFC 3339) of the same time. */
    until?: string | Date;
    /** `key:value` of an attribute of the record or of its resource. */
    attribute?: string[];
    /** Minimum severity: its short name, or its number in OpenTelemetry. */
    severity?: "trace" | "trace2" | "trace3" | "trace4" | "debug" | "debug2" | "debug3" | "debug4" | "info" | "info2" | "info3" | "info4" | "warn" | "warn2" | "warn3" | "warn4" | "error" | "error2" | "error3" | "error4" | "fatal" | "fatal2" | "fatal3" | "fatal4" | "1" | "2" | "3" | "4" | "5" | "6" | "7" | "8" | "9" | "10" | "11" | "12" | "13" | "14" | "15" | "16" | "17" | "18" | "19" | "20" | "21" | "22" | "23" | "24";
    /** Only records of this trace: 32 lower-case hexadecimal digits. */
    trace_id?: string;
    /** Text that the body contains. */
    q?: string;
    /** `service.name` of the resource, compared exactly. */
    service_name?: string;
  }, options?: RequestOptions): Pages<LogRecord>;
  /** Ingest metrics (OTLP/HTTP). */
  ingestMetrics(request: {
    body: { [key: string]: unknown; } | RawBody;
  }, options?: RequestOptions): ApiPromise<ExportMetricsResponse>;
  /** List data points, newest first. */
  listMetrics(request?: Paging & {
    /** The member to sort by, in ascending order. */
    sort?: "measured_at" | "-measured_at";
    /** Includes archived items, if the items of the list can be archived. */
    include_archived?: boolean;
    /** Inclusive lower bound (RFC 3339) of `started_at` of a trace, `last_started_at` of a session, `logged_at` of a log record, or `measured_at` of a data point. */
    since?: string | Date;
    /** Exclusive upper bound (RFC 3339) of the same time. */
    until?: string | Date;
    /** `key:value` of an attribute of the record or of its resource. */
    attribute?: string[];
    type?: "gauge" | "sum" | "histogram" | "exponential_histogram" | "summary";
    /** Name of the metric, compared exactly. */
    name?: string;
    /** `service.name` of the resource, compared exactly. */
    service_name?: string;
  }, options?: RequestOptions): Pages<MetricPoint>;
  /** Upload a file. */
  createFile(request: {
    /** What to do if the name is taken. */
    on_conflict?: "error" | "return" | "update";
    /** The workspace. */
    workspace_id?: string;
    /** Unique among the workspace's files that are not archived. */
    name?: string;
    /** A JSON object of at most 16 KiB. */
    metadata?: string;
    body: RawBody;
  }, options?: RequestOptions): ApiPromise<StoredFile>;
  /** List files. */
  listFiles(request?: Paging & {
    /** The member to sort by, in ascending order. */
    sort?: "created_at" | "-created_at" | "updated_at" | "-updated_at" | "name" | "-name";
    /** Only items created at or after this time (RFC 3339). */
    since?: string | Date;
    /** Only items created before this time (RFC 3339). */
    until?: string | Date;
    /** Only resources of this workspace. */
    workspace_id?: string;
    /** Only the resources with this name. */
    name?: string;
    /** Only resources in this state. */
    sync_state?: "unmanaged" | "pending" | "synced" | "drifted" | "failed";
    /** Only resources that this app declares. */
    app?: string;
    /** Words or word prefixes in the name. */
    q?: string;
    /** Only files of this media type, such as `text/csv`. */
    media_type?: string;
    /** Includes archived items, if the items of the list can be archived. */
    include_archived?: boolean;
  }, options?: RequestOptions): Pages<StoredFile>;
  /** Get a file. */
  getFile(request: {
    file_id: string;
  }, options?: RequestOptions): ApiPromise<StoredFile>;
  /** Rename a file or change its metadata. */
  updateFile(request: {
    file_id: string;
    body: PatchFile;
  }, options?: RequestOptions): ApiPromise<StoredFile>;
  /** Delete an archived file. */
  deleteFile(request: {
    file_id: string;
    /** Deletes the resource even if something refers to it. */
    force?: boolean;
  }, options?: RequestOptions): ApiPromise<void>;
  /** Download the newest version of a file. */
  getFileContent(request: {
    file_id: string;
  }, options?: RequestOptions): ApiPromise<Response>;
  /** Archive a file. */
  archiveFile(request: {
    file_id: string;
  }, options?: RequestOptions): ApiPromise<StoredFile>;
  /** Restore an archived file. */
  restoreFile(request: {
    file_id: string;
  }, options?: RequestOptions): ApiPromise<StoredFile>;
  /** Upload a version of a file. */
  createFileVersion(request: {
    file_id: string;
    body: RawBody;
  }, options?: RequestOptions): ApiPromise<FileVersion>;
  /** List the versions of a file. */
  listFileVersions(request: Paging & {
    file_id: string;
    /** The member to sort by, in ascending order. */
    sort?: "created_at" | "-created_at";
    /** Only items created at or after this time (RFC 3339). */
    since?: string | Date;
    /** Only items created before this time (RFC 3339). */
    until?: string | Date;
    /** Includes archived items, if the items of the list can be archived. */
    include_archived?: boolean;
  }, options?: RequestOptions): Pages<FileVersion>;
  /** Get a version of a file. */
  getFileVersion(request: {
    file_id: string;
    version_ordinal: string | number;
  }, options?: RequestOptions): ApiPromise<FileVersion>;
  /** Delete a version of a file. */
  deleteFileVersion(request: {
    file_id: string;
    version_ordinal: string | number;
    /** Deletes the resource even if something refers to it. */
    force?: boolean;
  }, options?: RequestOptions): ApiPromise<void>;
  /** Download a version of a file. */
  getFileVersionContent(request: {
    file_id: string;
    version_ordinal: string | number;
  }, options?: RequestOptions): ApiPromise<Response>;
  /** Create a skill from JSON members or from an upload of its directory. */
  createSkill(request: {
    /** What to do if the name is taken. */
    on_conflict?: "error" | "return" | "update";
    /** The workspace. */
    workspace_id?: string;
    body: CreateSkill | RawBody;
  }, options?: RequestOptions): ApiPromise<Skill>;
  /** List skills. */
  listSkills(request?: Paging & {
    /** The member to sort by, in ascending order. */
    sort?: "created_at" | "-created_at" | "updated_at" | "-updated_at" | "name" | "-name";
    /** Only items created at or after this time (RFC 3339). */
    since?: string | Date;
    /** Only items created before this time (RFC 3339). */
    until?: string | Date;
    /** Only resources of this workspace. */
    workspace_id?: string;
    /** Only the resources with this name. */
    name?: string;
    /** Only resources in this state. */
    sync_state?: "unmanaged" | "pending" | "synced" | "drifted" | "failed";
    /** Only resources that this app declares. */
    app?: string;
    /** Words or word prefixes in the name or the description. */
    q?: string;
    /** Includes archived items, if the items of the list can be archived. */
    include_archived?: boolean;
  }, options?: RequestOptions): Pages<Skill>;
  /** Get a skill. */
  getSkill(request: {
    /** The id, or `name:` and the name. */
    skill_id: string;
    /** The workspace of `name:` in the path. */
    workspace_id?: string;
  }, options?: RequestOptions): ApiPromise<Skill>;
  /** Change fields of SKILL.md. */
  updateSkill(request: {
    /** The id, or `name:` and the name. */
    skill_id: string;
    /** The workspace of `name:` in the path. */
    workspace_id?: string;
    body: PatchSkill;
  }, options?: RequestOptions): ApiPromise<Skill>;
  /** Delete an archived skill. */
  deleteSkill(request: {
    skill_id: string;
    /** Deletes the resource even if something refers to it. */
    force?: boolean;
  }, options?: RequestOptions): ApiPromise<void>;
  /** Archive a skill. */
  archiveSkill(request: {
    /** The id, or `name:` and the name. */
    skill_id: string;
    /** The workspace of `name:` in the path. */
    workspace_id?: string;
  }, options?: RequestOptions): ApiPromise<Skill>;
  /** Restore an archived skill. */
  restoreSkill(request: {
    skill_id: string;
  }, options?: RequestOptions): ApiPromise<Skill>;
  /** Get the discovery index of the skills that you may read. */
  getSkillIndex(request?: {
    /** Only skills of this workspace. */
    workspace_id?: string;
  }, options?: RequestOptions): ApiPromise<SkillIndex>;
  /** Point a label to a version of a skill. */
  setSkillLabel(request: {
    /** The name of the label, other than `latest`. */
    label: string;
    /** The id, or `name:` and the name. */
    skill_id: string;
    /** The workspace of `name:` in the path. */
    workspace_id?: string;
    body: PutLabel;
  }, options?: RequestOptions): ApiPromise<Skill>;
  /** Delete a label of a skill. */
  deleteSkillLabel(request: {
    /** The name of the label, other than `latest`. */
    label: string;
    skill_id: string;
  }, options?: RequestOptions): ApiPromise<void>;
  /** Create a version of a skill. */
  createSkillVersion(request: {
    /** The id, or `name:` and the name. */
    skill_id: string;
    /** The workspace. */
    workspace_id?: string;
    body: CreateSkillVersion | RawBody;
  }, options?: RequestOptions): ApiPromise<SkillVersionDetail>;
  /** List the versions of a skill. */
  listSkillVersions(request: Paging & {
    /** The id, or `name:` and the name. */
    skill_id: string;
    /** The member to sort by, in ascending order. */
    sort?: "created_at" | "-created_at";
    /** Only items created at or after this time (RFC 3339). */
    since?: string | Date;
    /** Only items created before this time (RFC 3339). */
    until?: string | Date;
    /** Includes archived items, if the items of the list can be archived. */
    include_archived?: boolean;
    /** The workspace of `name:` in the path. */
    workspace_id?: string;
  }, options?: RequestOptions): Pages<SkillVersion>;
  /** Get a version of a skill with its files. */
  getSkillVersion(request: {
    /** The number of a version, a label that points to it, or `latest`. */
    version_ordinal: string | number;
    /** The id, or `name:` and the name. */
    skill_id: string;
    /** The workspace of `name:` in the path. */
    workspace_id?: string;
  }, options?: RequestOptions): ApiPromise<SkillVersionDetail>;
  /** Delete a version of a skill. */
  deleteSkillVersion(request: {
    /** The number of a version, a label that points to it, or `latest`. */
    version_ordinal: string | number;
    skill_id: string;
    /** Deletes the resource even if something refers to it. */
    force?: boolean;
  }, options?: RequestOptions): ApiPromise<void>;
  /** Get the SKILL.md of a version. */
  getSkillVersionSkillMd(request: {
    /** The id, or `name:` and the name. */
    skill_id: string;
    /** The number of a version, a label that points to it, or `latest`. */
    version_ordinal: string | number;
    /** The workspace of `name:` in the path. */
    workspace_id?: string;
  }, options?: RequestOptions): ApiPromise<Response>;
  /** Download the files of a version as a zip archive with SKILL.md at its root. */
  getSkillVersionZip(request: {
    /** The id, or `name:` and the name. */
    skill_id: string;
    /** The number of a version, a label that points to it, or `latest`. */
    version_ordinal: string | number;
    /** The workspace of `name:` in the path. */
    workspace_id?: string;
  }, options?: RequestOptions): ApiPromise<Response>;
  /** Download the files of a version as a zip archive. */
  getSkillVersionContent(request: {
    /** The id, or `name:` and the name. */
    skill_id: string;
    /** The number of a version, a label that points to it, or `latest`. */
    version_ordinal: string | number;
    /** The workspace of `name:` in the path. */
    workspace_id?: string;
  }, options?: RequestOptions): ApiPromise<Response>;
  /** Create an agent. */
  createAgent(request: {
    /** What to do if the name is taken. */
    on_conflict?: "error" | "return" | "update";
    body: CreateAgent;
  }, options?: RequestOptions): ApiPromise<Agent>;
  /** List agents. */
  listAgents(request?: Paging & {
    /** The member to sort by, in ascending order. */
    sort?: "created_at" | "-created_at" | "updated_at" | "-updated_at" | "name" | "-name";
    /** Only items created at or after this time (RFC 3339). */
    since?: string | Date;
    /** Only items created before this time (RFC 3339). */
    until?: string | Date;
    /** Only resources of this workspace. */
    workspace_id?: string;
    /** Only the resources with this name. */
    name?: string;
    /** Only resources in this state. */
    sync_state?: "unmanaged" | "pending" | "synced" | "drifted" | "failed";
    /** Only resources that this app declares. */
    app?: string;
    /** Words or word prefixes in the name, the display name or the description. */
    q?: string;
    /** Includes archived items, if the items of the list can be archived. */
    include_archived?: boolean;
  }, options?: RequestOptions): Pages<Agent>;
  /** Get an agent. */
  getAgent(request: {
    /** The id, or `name:` and the name. */
    agent_id: string;
    /** The workspace of `name:` in the path. */
    workspace_id?: string;
  }, options?: RequestOptions): ApiPromise<Agent>;
  /** Change an agent. */
  updateAgent(request: {
    /** The id, or `name:` and the name. */
    agent_id: string;
    /** The workspace of `name:` in the path. */
    workspace_id?: string;
    body: PatchAgent;
  }, options?: RequestOptions): ApiPromise<Agent>;
  /** Delete an archived agent. */
  deleteAgent(request: {
    agent_id: string;
    /** Deletes the resource even if something refers to it. */
    force?: boolean;
  }, options?: RequestOptions): ApiPromise<void>;
  /** Get the A2A card of an agent. */
  getAgentCard(request: {
    /** The id, or `name:` and the name. */
    agent_id: string;
    /** The workspace of `name:` in the path. */
    workspace_id?: string;
  }, options?: RequestOptions): ApiPromise<AgentCard>;
  /** List the versions of an agent. */
  listAgentVersions(request: Paging & {
    /** The id, or `name:` and the name. */
    agent_id: string;
    /** The member to sort by, in ascending order. */
    sort?: "created_at" | "-created_at";
    /** Only items created at or after this time (RFC 3339). */
    since?: string | Date;
    /** Only items created before this time (RFC 3339). */
    until?: string | Date;
    /** The workspace of `name:` in the path. */
    workspace_id?: string;
  }, options?: RequestOptions): Pages<AgentVersion>;
  /** Get a version of an agent. */
  getAgentVersion(request: {
    /** The number of a version, a label that points to it, or `latest`. */
    version_ordinal: string | number;
    /** The id, or `name:` and the name. */
    agent_id: string;
    /** The workspace of `name:` in the path. */
    workspace_id?: string;
  }, options?: RequestOptions): ApiPromise<AgentVersion>;
  /** Delete a version of an agent. */
  deleteAgentVersion(request: {
    /** The number of a version, a label that points to it, or `latest`. */
    version_ordinal: string | number;
    agent_id: string;
    /** Deletes the resource even if something refers to it. */
    force?: boolean;
  }, options?: RequestOptions): ApiPromise<void>;
  /** Archive an agent. */
  archiveAgent(request: {
    /** The id, or `name:` and the name. */
    agent_id: string;
    /** The workspace of `name:` in the path. */
    workspace_id?: string;
  }, options?: RequestOptions): ApiPromise<Agent>;
  /** Restore an archived agent. */
  restoreAgent(request: {
    agent_id: string;
  }, options?: RequestOptions): ApiPromise<Agent>;
  /** Point a label to a version of an agent. */
  setAgentLabel(request: {
    /** The name of the label, other than `latest`. */
    label: string;
    /** The id, or `name:` and the name. */
    agent_id: string;
    /** The workspace of `name:` in the path. */
    workspace_id?: string;
    body: PutLabel;
  }, options?: RequestOptions): ApiPromise<Agent>;
  /** Delete a label of an agent. */
  deleteAgentLabel(request: {
    /** The name of the label, other than `latest`. */
    label: string;
    agent_id: string;
  }, options?: RequestOptions): ApiPromise<void>;
  /** Start a session with an agent. */
  createAgentSession(request: {
    /** The id, or `name:` and the name. */
    agent_id: string;
    /** The workspace of `name:` in the path. */
    workspace_id?: string;
    body: CreateSession;
  }, options?: RequestOptions): ApiPromise<AgentSession>;
  /** List sessions. */
  listAgentSessions(request?: Paging & {
    /** The member to sort by, in ascending order. */
    sort?: "created_at" | "-created_at" | "updated_at" | "-updated_at";
    /** Only items created at or after this time (RFC 3339). */
    since?: string | Date;
    /** Only items created before this time (RFC 3339). */
    until?: string | Date;
    /** Only sessions of this workspace. */
    workspace_id?: string;
    /** Only sessions with this agent. */
    agent_id?: string;
    session_status?: "active" | "completed" | "failed";
    /** Includes archived items, if the items of the list can be archived. */
    include_archived?: boolean;
  }, options?: RequestOptions): Pages<AgentSession>;
  /** Get a session. */
  getAgentSession(request: {
    session_id: string;
  }, options?: RequestOptions): ApiPromise<AgentSession>;
  /** Change the title, status or metadata of a session. */
  updateAgentSession(request: {
    session_id: string;
    body: PatchSession;
  }, options?: RequestOptions): ApiPromise<AgentSession>;
  /** Delete a session, with its messages. */
  deleteAgentSession(request: {
    session_id: string;
    /** Deletes the resource even if something refers to it. */
    force?: boolean;
  }, options?: RequestOptions): ApiPromise<void>;
  /** List the traces of a session, newest first. */
  listAgentSessionTraces(request: Paging & {
    session_id: string;
    /** The member to sort by, in ascending order. */
    sort?: "started_at" | "-started_at";
    /** Includes archived items, if the items of the list can be archived. */
    include_archived?: boolean;
    /** Inclusive lower bound (RFC 3339) of `started_at` of a trace, `last_started_at` of a session, `logged_at` of a log record, or `measured_at` of a data point. */
    since?: string | Date;
    /** Exclusive upper bound (RFC 3339) of the same time. */
    until?: string | Date;
    user_id?: string;
    /** `deployment.environment.name` of the resource. */
    environment?: string;
    /** One of the tags of the trace. */
    tag?: string;
    prompt_name?: string;
    prompt_version?: string;
  }, options?: RequestOptions): Pages<ScoredTrace>;
  /** Archive a session. */
  archiveAgentSession(request: {
    session_id: string;
  }, options?: RequestOptions): ApiPromise<AgentSession>;
  /** Restore an archived session. */
  restoreAgentSession(request: {
    session_id: string;
  }, options?: RequestOptions): ApiPromise<AgentSession>;
  /** Add a message to a session. */
  createMessage(request: {
    session_id: string;
    body: CreateMessage;
  }, options?: RequestOptions): ApiPromise<Message>;
  /** List the messages of a session, in order. */
  listMessages(request: Paging & {
    session_id: string;
    /** The member to sort by, in ascending order. */
    sort?: "created_at" | "-created_at";
    /** Only items created at or after this time (RFC 3339). */
    since?: string | Date;
    /** Only items created before this time (RFC 3339). */
    until?: string | Date;
    /** Only messages with this role. */
    role?: "user" | "assistant" | "system" | "tool";
  }, options?: RequestOptions): Pages<Message>;
  /** Get a message of a session. */
  getMessage(request: {
    session_id: string;
    message_id: string;
  }, options?: RequestOptions): ApiPromise<Message>;
  /** Delete a message of a session. */
  deleteMessage(request: {
    session_id: string;
    message_id: string;
  }, options?: RequestOptions): ApiPromise<void>;
  /** Register an MCP server. */
  createMcpServer(request: {
    body: CreateServer;
  }, options?: RequestOptions): ApiPromise<Server>;
  /** List MCP servers, except the system server named `registry`. */
  listMcpServers(request?: Paging & {
    /** The member to sort by, in ascending order. */
    sort?: "created_at" | "-created_at" | "updated_at" | "-updated_at" | "name" | "-name";
    /** Only items created at or after this time (RFC 3339). */
    since?: string | Date;
    /** Only items created before this time (RFC 3339). */
    until?: string | Date;
    /** Only resources of this workspace. */
    workspace_id?: string;
    /** Only the resources with this name. */
    name?: string;
    /** Only resources in this state. */
    sync_state?: "unmanaged" | "pending" | "synced" | "drifted" | "failed";
    /** Only resources that this app declares. */
    app?: string;
    /** Words or word prefixes in the name, the URL without its query, or the description. */
    q?: string;
    transport?: "streamable_http" | "sse";
    health?: "unknown" | "healthy" | "unhealthy";
    /** Includes archived items, if the items of the list can be archived. */
    include_archived?: boolean;
  }, options?: RequestOptions): Pages<Server>;
  /** Get an MCP server. */
  getMcpServer(request: {
    /** The id, or `name:` and the name. */
    server_id: string;
    /** The workspace of `name:` in the path. */
    workspace_id?: string;
  }, options?: RequestOptions): ApiPromise<Server>;
  /** Change an MCP server. */
  updateMcpServer(request: {
    /** The id, or `name:` and the name. */
    server_id: string;
    /** The workspace of `name:` in the path. */
    workspace_id?: string;
    body: PatchServer;
  }, options?: RequestOptions): ApiPromise<Server>;
  /** Delete an archived MCP server. */
  deleteMcpServer(request: {
    server_id: string;
    /** Deletes the resource even if something refers to it. */
    force?: boolean;
  }, options?: RequestOptions): ApiPromise<void>;
  /** List the versions of an MCP server. */
  listMcpServerVersions(request: Paging & {
    /** The id, or `name:` and the name. */
    server_id: string;
    /** The member to sort by, in ascending order. */
    sort?: "created_at" | "-created_at";
    /** Only items created at or after this time (RFC 3339). */
    since?: string | Date;
    /** Only items created before this time (RFC 3339). */
    until?: string | Date;
    /** Includes archived items, if the items of the list can be archived. */
    include_archived?: boolean;
    /** The workspace of `name:` in the path. */
    workspace_id?: string;
  }, options?: RequestOptions): Pages<ServerVersion>;
  /** Get a version of an MCP server. */
  getMcpServerVersion(request: {
    version_ordinal: string | number;
    /** The id, or `name:` and the name. */
    server_id: string;
    /** The workspace of `name:` in the path. */
    workspace_id?: string;
  }, options?: RequestOptions): ApiPromise<ServerVersion>;
  /** Delete a version of an MCP server. */
  deleteMcpServerVersion(request: {
    version_ordinal: string | number;
    server_id: string;
    /** Deletes the resource even if something refers to it. */
    force?: boolean;
  }, options?: RequestOptions): ApiPromise<void>;
  /** Archive an MCP server and its tools, and delete its secret. */
  archiveMcpServer(request: {
    /** The id, or `name:` and the name. */
    server_id: string;
    /** The workspace of `name:` in the path. */
    workspace_id?: string;
  }, options?: RequestOptions): ApiPromise<Server>;
  /** Restore an archived MCP server and its tools. */
  restoreMcpServer(request: {
    server_id: string;
  }, options?: RequestOptions): ApiPromise<Server>;
  /** Register an MCP server from a `server.json` of the public MCP registry. */
  importMcpServer(request: {
    body: ImportServer;
  }, options?: RequestOptions): ApiPromise<Server>;
  /** Test whether an MCP server can be used, and refresh its tools. */
  testMcpServer(request: {
    /** The id, or `name:` and the name. */
    server_id: string;
    /** The workspace of `name:` in the path. */
    workspace_id?: string;
  }, options?: RequestOptions): ApiPromise<ServerTest>;
  /** Refresh the tools of an MCP server. */
  refreshMcpServer(request: {
    /** The id, or `name:` and the name. */
    server_id: string;
    /** The workspace of `name:` in the path. */
    workspace_id?: string;
  }, options?: RequestOptions): ApiPromise<ToolChanges>;
  /** List the checks of an MCP server, newest first. */
  listMcpServerChecks(request: Paging & {
    /** The id, or `name:` and the name. */
    server_id: string;
    /** The member to sort by, in ascending order. */
    sort?: "created_at" | "-created_at";
    /** Only items created at or after this time (RFC 3339). */
    since?: string | Date;
    /** Only items created before this time (RFC 3339). */
    until?: string | Date;
    /** `true`: only checks that succeeded. */
    ok?: boolean;
    /** The workspace of `name:` in the path. */
    workspace_id?: string;
  }, options?: RequestOptions): Pages<ServerCheck>;
  /** List the tools of an MCP server, by name. */
  listMcpTools(request: Paging & {
    /** The id, or `name:` and the name. */
    server_id: string;
    /** The member to sort by, in ascending order. */
    sort?: "created_at" | "-created_at" | "updated_at" | "-updated_at" | "name" | "-name";
    /** Only items created at or after this time (RFC 3339). */
    since?: string | Date;
    /** Only items created before this time (RFC 3339). */
    until?: string | Date;
    /** Only the tool with exactly this name. */
    name?: string;
    /** Includes archived items, if the items of the list can be archived. */
    include_archived?: boolean;
    /** The workspace of `name:` in the path. */
    workspace_id?: string;
  }, options?: RequestOptions): Pages<Tool>;
  /** Get a tool of an MCP server. */
  getMcpTool(request: {
    /** The id, or `name:` and the name. */
    server_id: string;
    tool_id: string;
    /** The workspace of `name:` in the path. */
    workspace_id?: string;
  }, options?: RequestOptions): ApiPromise<Tool>;
  /** List the versions of a tool, newest first. */
  listMcpToolVersions(request: Paging & {
    /** The id, or `name:` and the name. */
    server_id: string;
    tool_id: string;
    /** The member to sort by, in ascending order. */
    sort?: "created_at" | "-created_at";
    /** Only items created at or after this time (RFC 3339). */
    since?: string | Date;
    /** Only items created before this time (RFC 3339). */
    until?: string | Date;
    /** The workspace of `name:` in the path. */
    workspace_id?: string;
  }, options?: RequestOptions): Pages<ToolVersion>;
  /** Compare two versions of a tool. */
  compareMcpToolVersions(request: {
    /** The id, or `name:` and the name. */
    server_id: string;
    tool_id: string;
    version_from: string | number;
    version_to: string | number;
    /** The workspace of `name:` in the path. */
    workspace_id?: string;
  }, options?: RequestOptions): ApiPromise<ToolDiff>;
  /** Get a version of a tool. */
  getMcpToolVersion(request: {
    /** The id, or `name:` and the name. */
    server_id: string;
    tool_id: string;
    version_ordinal: string | number;
    /** The workspace of `name:` in the path. */
    workspace_id?: string;
  }, options?: RequestOptions): ApiPromise<ToolVersion>;
  /** List MCP servers in the format of the public MCP registry. */
  listRegistryServers(request?: {
    limit?: number;
    /** Words or word prefixes in the title, the URL without its query, or the description. */
    search?: string;
    /** Only servers that changed at this time or later (RFC 3339), oldest change first. */
    updated_since?: string | Date;
    /** Only servers whose latest version is this one, such as `1.0.3`. */
    version?: string;
    /** Only servers of this workspace. */
    workspace_id?: string;
    /** `metadata.nextCursor` of the previous page. */
    cursor?: string;
    /** Whether to include archived servers, which have the status `deleted`. */
    include_deleted?: boolean;
  }, options?: RequestOptions): ApiPromise<RegistryPage>;
  /** List the versions of an MCP server in the format of the public MCP registry, newest first. */
  listRegistryServerVersions(request: {
    server_name: string;
    limit?: number;
    /** `metadata.nextCursor` of the previous page. */
    cursor?: string;
    /** Whether to include archived servers, which have the status `deleted`. */
    include_deleted?: boolean;
  }, options?: RequestOptions): ApiPromise<RegistryPage>;
  /** Get a version of an MCP server in the format of the public MCP registry. */
  getRegistryServerVersion(request: {
    server_name: string;
    version_name: string | number;
    /** Whether to include archived servers, which have the status `deleted`. */
    include_deleted?: boolean;
  }, options?: RequestOptions): ApiPromise<RegistryEntry>;
  /** List MCP servers in the format of the public MCP registry. */
  listFrozenRegistryServers(request?: {
    limit?: number;
    /** Words or word prefixes in the title, the URL without its query, or the description. */
    search?: string;
    /** Only servers that changed at this time or later (RFC 3339), oldest change first. */
    updated_since?: string | Date;
    /** Only servers whose latest version is this one, such as `1.0.3`. */
    version?: string;
    /** Only servers of this workspace. */
    workspace_id?: string;
    /** `metadata.nextCursor` of the previous page. */
    cursor?: string;
    /** Whether to include archived servers, which have the status `deleted`. */
    include_deleted?: boolean;
  }, options?: RequestOptions): ApiPromise<RegistryPage>;
  /** List the versions of an MCP server in the format of the public MCP registry, newest first. */
  listFrozenRegistryServerVersions(request: {
    server_name: string;
    limit?: number;
    /** `metadata.nextCursor` of the previous page. */
    cursor?: string;
    /** Whether to include archived servers, which have the status `deleted`. */
    include_deleted?: boolean;
  }, options?: RequestOptions): ApiPromise<RegistryPage>;
  /** Get a version of an MCP server in the format of the public MCP registry. */
  getFrozenRegistryServerVersion(request: {
    server_name: string;
    version_name: string | number;
    /** Whether to include archived servers, which have the status `deleted`. */
    include_deleted?: boolean;
  }, options?: RequestOptions): ApiPromise<RegistryEntry>;
  /** Register a model provider. */
  createModelProvider(request: {
    body: CreateModelProvider;
  }, options?: RequestOptions): ApiPromise<ModelProvider>;
  /** List model providers. */
  listModelProviders(request?: Paging & {
    /** The member to sort by, in ascending order. */
    sort?: "created_at" | "-created_at" | "updated_at" | "-updated_at" | "name" | "-name";
    /** Only items created at or after this time (RFC 3339). */
    since?: string | Date;
    /** Only items created before this time (RFC 3339). */
    until?: string | Date;
    /** Only providers of this workspace. */
    workspace_id?: string;
    /** Only providers with this name. */
    name?: string;
    /** Only providers of this kind. */
    kind?: "openai" | "anthropic";
    /** Words or word prefixes in the name, the base URL, or the description. */
    q?: string;
    /** Includes archived items, if the items of the list can be archived. */
    include_archived?: boolean;
  }, options?: RequestOptions): Pages<ModelProvider>;
  /** Get a model provider. */
  getModelProvider(request: {
    provider_id: string;
  }, options?: RequestOptions): ApiPromise<ModelProvider>;
  /** Change a model provider. */
  updateModelProvider(request: {
    provider_id: string;
    body: PatchModelProvider;
  }, options?: RequestOptions): ApiPromise<ModelProvider>;
  /** Delete an archived model provider. */
  deleteModelProvider(request: {
    provider_id: string;
    /** Deletes the resource even if something refers to it. */
    force?: boolean;
  }, options?: RequestOptions): ApiPromise<void>;
  /** Archive a model provider and delete its key. */
  archiveModelProvider(request: {
    provider_id: string;
  }, options?: RequestOptions): ApiPromise<ModelProvider>;
  /** Restore an archived model provider, without its deleted key. */
  restoreModelProvider(request: {
    provider_id: string;
  }, options?: RequestOptions): ApiPromise<ModelProvider>;
  /** Create a model, which clients call by its name. */
  createModel(request: {
    /** What to do if the name is taken. */
    on_conflict?: "error" | "return" | "update";
    body: CreateModel;
  }, options?: RequestOptions): ApiPromise<Model>;
  /** List models. */
  listModels(request?: Paging & {
    /** The member to sort by, in ascending order. */
    sort?: "created_at" | "-created_at" | "updated_at" | "-updated_at" | "name" | "-name";
    /** Only items created at or after this time (RFC 3339). */
    since?: string | Date;
    /** Only items created before this time (RFC 3339). */
    until?: string | Date;
    /** Only models of this workspace. */
    workspace_id?: string;
    /** Only models with this name. */
    name?: string;
    /** Only models with this strategy. */
    strategy?: "single" | "fallback" | "weighted";
    /** Only models that have this provider among their targets. */
    provider_id?: string;
    /** Words or word prefixes in the name or the description. */
    q?: string;
    /** Includes archived items, if the items of the list can be archived. */
    include_archived?: boolean;
  }, options?: RequestOptions): Pages<Model, ModelPage>;
  /** Get a model by its id or its name. */
  getModel(request: {
    /** The id of a model, or the name of a model that is not archived. */
    model_id: string;
    /** The workspace of `name:` in the path. */
    workspace_id?: string;
  }, options?: RequestOptions): ApiPromise<Model>;
  /** Change a model. */
  updateModel(request: {
    /** The id, or `name:` and the name. */
    model_id: string;
    /** The workspace of `name:` in the path. */
    workspace_id?: string;
    body: PatchModel;
  }, options?: RequestOptions): ApiPromise<Model>;
  /** Delete an archived model. */
  deleteModel(request: {
    model_id: string;
    /** Deletes the resource even if something refers to it. */
    force?: boolean;
  }, options?: RequestOptions): ApiPromise<void>;
  /** Archive a model. */
  archiveModel(request: {
    /** The id, or `name:` and the name. */
    model_id: string;
    /** The workspace of `name:` in the path. */
    workspace_id?: string;
  }, options?: RequestOptions): ApiPromise<Model>;
  /** Restore an archived model. */
  restoreModel(request: {
    model_id: string;
  }, options?: RequestOptions): ApiPromise<Model>;
  /** Create a gateway key. */
  createGatewayKey(request: {
    body: CreateGatewayKey;
  }, options?: RequestOptions): ApiPromise<GatewayKey & { key: string; }>;
  /** List gateway keys, including revoked ones. */
  listGatewayKeys(request?: Paging & {
    /** The member to sort by, in ascending order. */
    sort?: "created_at" | "-created_at" | "updated_at" | "-updated_at" | "name" | "-name";
    /** Only items created at or after this time (RFC 3339). */
    since?: string | Date;
    /** Only items created before this time (RFC 3339). */
    until?: string | Date;
    /** Only keys of this workspace. */
    workspace_id?: string;
    /** Only keys with this name. */
    name?: string;
    /** Includes archived items, if the items of the list can be archived. */
    include_archived?: boolean;
  }, options?: RequestOptions): Pages<GatewayKey>;
  /** Get the caller's gateway key, and the amount spent this month. */
  getCurrentGatewayKey(request?: {}, options?: RequestOptions): ApiPromise<CurrentGatewayKey>;
  /** Get a gateway key, without the key itself. */
  getGatewayKey(request: {
    key_id: string;
  }, options?: RequestOptions): ApiPromise<GatewayKey>;
  /** Change the name or the limits of a gateway key. */
  updateGatewayKey(request: {
    key_id: string;
    body: PatchGatewayKey;
  }, options?: RequestOptions): ApiPromise<GatewayKey>;
  /** Delete a revoked gateway key and its service account. */
  deleteGatewayKey(request: {
    key_id: string;
  }, options?: RequestOptions): ApiPromise<void>;
  /** Revoke a gateway key and archive its service account. */
  revokeGatewayKey(request: {
    key_id: string;
  }, options?: RequestOptions): ApiPromise<GatewayKey>;
  /** Get the monthly model budget of a workspace, and the amount spent. */
  getModelBudget(request: {
    workspace_id: string;
  }, options?: RequestOptions): ApiPromise<ModelBudget>;
  /** Set the monthly model budget of a workspace. */
  setModelBudget(request: {
    workspace_id: string;
    body: PutModelBudget;
  }, options?: RequestOptions): ApiPromise<ModelBudget>;
  /** Get the usage and cost of model calls. */
  listModelUsage(request?: Paging & {
    /** Only usage in this workspace. */
    workspace_id?: string;
    /** Only usage of this model. */
    model_id?: string;
    /** Only usage of this user or service account. */
    principal_id?: string;
    /** Only usage on this day (UTC) or later: a date or a time (RFC 3339). */
    since?: string;
    /** Only usage before this day (UTC): a date, or a time (RFC 3339). */
    until?: string;
    /** The groupings, separated by commas: `day`, `model`, `principal`, `provider` and `workspace`. */
    group_by?: string;
  }, options?: RequestOptions): Pages<ModelUsage, ModelUsagePage>;
  /** Create a dataset. */
  createDataset(request: {
    /** What to do if the name is taken. */
    on_conflict?: "error" | "return" | "update";
    body: CreateDataset;
  }, options?: RequestOptions): ApiPromise<Dataset>;
  /** List datasets. */
  listDatasets(request?: Paging & {
    /** The member to sort by, in ascending order. */
    sort?: "created_at" | "-created_at" | "updated_at" | "-updated_at" | "name" | "-name";
    /** Only items created at or after this time (RFC 3339). */
    since?: string | Date;
    /** Only items created before this time (RFC 3339). */
    until?: string | Date;
    /** Includes archived items, if the items of the list can be archived. */
    include_archived?: boolean;
    /** Words or word prefixes in the name or description. */
    q?: string;
    /** The exact name. */
    name?: string;
    /** Datasets with this tag. */
    tag?: string;
  }, options?: RequestOptions): Pages<Dataset>;
  /** Search datasets. */
  searchDatasets(request: {
    body: DatasetSearch;
  }, options?: RequestOptions): Pages<Dataset, DatasetPage>;
  /** Get a dataset. */
  getDataset(request: {
    /** The id, or `name:` and the name. */
    dataset_id: string;
  }, options?: RequestOptions): ApiPromise<Dataset>;
  /** Change a dataset. */
  updateDataset(request: {
    /** The id, or `name:` and the name. */
    dataset_id: string;
    body: PatchDataset;
  }, options?: RequestOptions): ApiPromise<Dataset>;
  /** Delete an archived dataset. */
  deleteDataset(request: {
    dataset_id: string;
    /** Deletes the resource even if something refers to it. */
    force?: boolean;
  }, options?: RequestOptions): ApiPromise<Erasure>;
  /** Archive a dataset. */
  archiveDataset(request: {
    /** The id, or `name:` and the name. */
    dataset_id: string;
  }, options?: RequestOptions): ApiPromise<Dataset>;
  /** Restore an archived dataset. */
  restoreDataset(request: {
    dataset_id: string;
  }, options?: RequestOptions): ApiPromise<Dataset>;
  /** Upload a CSV file as a version of a dataset. */
  createDatasetVersion(request: {
    /** The id, or `name:` and the name. */
    dataset_id: string;
    /** JSON: an object of `input`, `expected`, `metadata` and `tags`, each a column or an array of columns. */
    mapping?: string;
    /** Reads the whole file, stores nothing, and returns 200 with what the file would become. */
    dry_run?: boolean;
    /** The workspace that X-Service-Workspace-Id names. */
    workspace_id?: string;
    /** The column of the case ids. */
    case_id_column?: string;
    body: CreateDatasetVersion | RawBody;
  }, options?: RequestOptions): ApiPromise<DatasetVersion | DatasetVersionPreview>;
  /** List a dataset's CSV versions. */
  listDatasetVersions(request: Paging & {
    /** The id, or `name:` and the name. */
    dataset_id: string;
    /** The member to sort by, in ascending order. */
    sort?: "created_at" | "-created_at";
    /** Only items created at or after this time (RFC 3339). */
    since?: string | Date;
    /** Only items created before this time (RFC 3339). */
    until?: string | Date;
    /** Includes archived items, if the items of the list can be archived. */
    include_archived?: boolean;
  }, options?: RequestOptions): Pages<DatasetVersion>;
  /** Get a CSV version. */
  getDatasetVersion(request: {
    version: string | number;
    /** The id, or `name:` and the name. */
    dataset_id: string;
  }, options?: RequestOptions): ApiPromise<DatasetVersion>;
  /** Delete a CSV version and its file. */
  deleteDatasetVersion(request: {
    version: string | number;
    dataset_id: string;
    /** Deletes the resource even if something refers to it. */
    force?: boolean;
  }, options?: RequestOptions): ApiPromise<void>;
  /** Get the content of a CSV version. */
  getDatasetVersionContent(request: {
    /** The id, or `name:` and the name. */
    dataset_id: string;
    version: string | number;
  }, options?: RequestOptions): ApiPromise<Response>;
  /** List the rows of a CSV version, as cases. */
  listDatasetVersionRows(request: Paging & {
    /** The id, or `name:` and the name. */
    dataset_id: string;
    version: string | number;
  }, options?: RequestOptions): Pages<DatasetCase>;
  /** Export a dataset's records. */
  exportRecords(request: {
    /** The id, or `name:` and the name. */
    dataset_id: string;
    source_kind?: "manual" | "session" | "trace" | "external";
    label?: string;
    category?: string;
    /** Records with this tag. */
    tag?: string;
    source_ref?: string;
    external_id?: string;
    format?: "jsonl" | "csv";
    /** The cells of `input` and `expected` in CSV. */
    cells?: "auto" | "json";
    /** Includes archived records. */
    include_archived?: boolean;
  }, options?: RequestOptions): ApiPromise<Response>;
  /** Import records, all or none. */
  importRecords(request: {
    /** The id, or `name:` and the name. */
    dataset_id: string;
    /** How to handle a record whose `external_id` another record of the dataset already has, unless that record is archived: `error` returns 409 and imports nothing, `skip` leaves the existing record unchanged, and `update` gives it a new version with exactly the imported content. */
    on_conflict?: "error" | "skip" | "update";
    /** How CSV cells become values: `auto` reads a cell that begins with `{` or `[` and is valid JSON as JSON, and any other cell as text; `text` reads every cell as text; `json` requires a file in the form of an export with `cells=json`. */
    cells?: "auto" | "text" | "json";
    /** The workspace that X-Service-Workspace-Id names. */
    workspace_id?: string;
    body: ImportVersion | RawBody;
  }, options?: RequestOptions): ApiPromise<RecordImport>;
  /** Create a record. */
  createRecord(request: {
    /** The id, or `name:` and the name. */
    dataset_id: string;
    body: CreateRecord;
  }, options?: RequestOptions): ApiPromise<DatasetRecord>;
  /** List a dataset's records. */
  listRecords(request: Paging & {
    /** The id, or `name:` and the name. */
    dataset_id: string;
    /** The member to sort by, in ascending order. */
    sort?: "created_at" | "-created_at" | "updated_at" | "-updated_at";
    /** Only items created at or after this time (RFC 3339). */
    since?: string | Date;
    /** Only items created before this time (RFC 3339). */
    until?: string | Date;
    source_kind?: "manual" | "session" | "trace" | "external";
    /** Words or word prefixes in `input`, `expected` or `metadata`. */
    q?: string;
    label?: string;
    category?: string;
    /** Records with this tag. */
    tag?: string;
    source_ref?: string;
    external_id?: string;
    /** Includes archived items, if the items of the list can be archived. */
    include_archived?: boolean;
  }, options?: RequestOptions): Pages<DatasetRecord>;
  /** Create up to 100 records. */
  createRecordsBulk(request: {
    /** The id, or `name:` and the name. */
    dataset_id: string;
    body: BulkRecords;
  }, options?: RequestOptions): ApiPromise<BulkRecordsResponse>;
  /** Create records from traces. */
  createRecordsFromTraces(request: {
    /** The id, or `name:` and the name. */
    dataset_id: string;
    body: RecordsFromTraces;
  }, options?: RequestOptions): ApiPromise<RecordsFromTracesResponse>;
  /** Get a record. */
  getRecord(request: {
    dataset_record_id: string;
    /** The id, or `name:` and the name. */
    dataset_id: string;
  }, options?: RequestOptions): ApiPromise<DatasetRecord>;
  /** Change a record, which creates a new version. */
  updateRecord(request: {
    dataset_record_id: string;
    /** The id, or `name:` and the name. */
    dataset_id: string;
    body: PatchRecord;
  }, options?: RequestOptions): ApiPromise<DatasetRecord>;
  /** Delete a record and all its versions. */
  deleteRecord(request: {
    dataset_record_id: string;
    dataset_id: string;
    /** Deletes the resource even if something refers to it. */
    force?: boolean;
  }, options?: RequestOptions): ApiPromise<void>;
  /** Archive a record. */
  archiveRecord(request: {
    /** The id, or `name:` and the name. */
    dataset_id: string;
    dataset_record_id: string;
  }, options?: RequestOptions): ApiPromise<DatasetRecord>;
  /** Restore an archived record. */
  restoreRecord(request: {
    dataset_id: string;
    dataset_record_id: string;
  }, options?: RequestOptions): ApiPromise<DatasetRecord>;
  /** List the versions of a record. */
  listRecordVersions(request: Paging & {
    /** The id, or `name:` and the name. */
    dataset_id: string;
    dataset_record_id: string;
    /** The member to sort by, in ascending order. */
    sort?: "created_at" | "-created_at";
    /** Only items created at or after this time (RFC 3339). */
    since?: string | Date;
    /** Only items created before this time (RFC 3339). */
    until?: string | Date;
    /** Includes archived items, if the items of the list can be archived. */
    include_archived?: boolean;
  }, options?: RequestOptions): Pages<RecordVersion>;
  /** Get one version of a record. */
  getRecordVersion(request: {
    /** The id, or `name:` and the name. */
    dataset_id: string;
    dataset_record_id: string;
    version: string | number;
  }, options?: RequestOptions): ApiPromise<RecordVersion>;
  /** Create an experiment, or resume one. */
  createExperiment(request: {
    body: CreateExperiment;
  }, options?: RequestOptions): ApiPromise<Experiment>;
  /** List experiments. */
  listExperiments(request?: Paging & {
    /** The member to sort by, in ascending order. */
    sort?: "created_at" | "-created_at" | "updated_at" | "-updated_at" | "name" | "-name";
    /** Only items created at or after this time (RFC 3339). */
    since?: string | Date;
    /** Only items created before this time (RFC 3339). */
    until?: string | Date;
    subject_kind?: "agent" | "harness" | "skill";
    experiment_status?: "running" | "completed" | "failed";
    /** The `key:value` of a scalar in the config. */
    config?: string[];
    dataset_id?: string;
    subject_id?: string;
    baseline_experiment_id?: string;
    /** The exact name of the evaluation. */
    name?: string;
    run_key?: string;
    tag?: string;
    /** Words or word prefixes in the names or description. */
    q?: string;
    /** Includes archived items, if the items of the list can be archived. */
    include_archived?: boolean;
  }, options?: RequestOptions): Pages<Experiment>;
  /** Search experiments. */
  searchExperiments(request: {
    body: ExperimentSearch;
  }, options?: RequestOptions): Pages<Experiment, ExperimentPage>;
  /** Get an experiment. */
  getExperiment(request: {
    experiment_id: string;
  }, options?: RequestOptions): ApiPromise<Experiment>;
  /** Change a running experiment, or finalize it. */
  updateExperiment(request: {
    experiment_id: string;
    body: PatchExperiment;
  }, options?: RequestOptions): ApiPromise<Experiment>;
  /** Delete an archived experiment. */
  deleteExperiment(request: {
    experiment_id: string;
    /** Deletes the resource even if something refers to it. */
    force?: boolean;
  }, options?: RequestOptions): ApiPromise<Erasure>;
  /** Archive an experiment. */
  archiveExperiment(request: {
    experiment_id: string;
  }, options?: RequestOptions): ApiPromise<Experiment>;
  /** Restore an archived experiment. */
  restoreExperiment(request: {
    experiment_id: string;
  }, options?: RequestOptions): ApiPromise<Experiment>;
  /** List the cases of an experiment, as they stood when it was created. */
  listExperimentCases(request: Paging & {
    experiment_id: string;
    /** `pending` if the case has fewer results than the experiment has `trials`; else `failed` if at least one has an `error`, or `done`. */
    state?: "pending" | "failed" | "done";
  }, options?: RequestOptions): Pages<ExperimentCase>;
  /** Compare an experiment with a baseline. */
  compareExperiments(request: {
    experiment_id: string;
    /** Maximum number of items; 0 returns no items, only the total. */
    limit?: number;
    /** Number of items to skip. */
    offset?: number;
    /** `false` skips counting: `total` is null. */
    total?: boolean;
    /** The version of `scorer` to compare. */
    scorer_version?: number;
    /** The lowest share of comparable cases: of the cases of both experiments, those whose `input` and `expected` have not changed; and of the cases with scores on both sides, those that the same judge scored. */
    min_comparable?: number;
    /** Returns only cases that improved, regressed, did not change (`unchanged`), lack a score on one side (`missing`), or whose `input` or `expected` differs between the experiments (`changed`). */
    only?: "improved" | "regressed" | "unchanged" | "missing" | "changed";
    /** `difference`: the worst regressions first. */
    sort?: "difference" | "-difference";
    /** The completed experiment to compare with. */
    baseline_experiment_id?: string;
    /** The scorer whose differences sort and filter the cases. */
    scorer?: string;
    /** Compares even if the scorers, their versions or the judges differ, instead of returning `not_comparable`. */
    allow_version_mismatch?: boolean;
    /** `next_cursor` of the previous page of this list with these filters. */
    cursor?: string;
  }, options?: RequestOptions): ApiPromise<Comparison>;
  /** Measure the agreement of a scorer with a reference. */
  getScorerAgreement(request: {
    /** The id, or `name:` and the name. */
    scorer_id: string;
    /** Counts only scores by this version of the scorer. */
    scorer_version?: number;
    /** Counts only scores by this version of the reference. */
    reference_scorer_version?: number;
    /** The scorer to compare with, such as a human scorer. */
    reference_scorer_id: string;
    /** Counts only the units of this experiment's results: their traces, else their sessions, else the results themselves. */
    experiment_id?: string;
  }, options?: RequestOptions): ApiPromise<Agreement>;
  /** Check an experiment against rules, for CI. */
  checkGate(request: {
    experiment_id: string;
    body: Gate;
  }, options?: RequestOptions): ApiPromise<GateResult>;
  /** List the gate checks of an experiment, newest first. */
  listGates(request: Paging & {
    experiment_id: string;
    /** The member to sort by, in ascending order. */
    sort?: "created_at" | "-created_at";
    /** Only items created at or after this time (RFC 3339). */
    since?: string | Date;
    /** Only items created before this time (RFC 3339). */
    until?: string | Date;
  }, options?: RequestOptions): Pages<KeptGate>;
  /** Add the result of one case. */
  createResult(request: {
    experiment_id: string;
    body: CreateResult;
  }, options?: RequestOptions): ApiPromise<Result>;
  /** List an experiment's results. */
  listResults(request: Paging & {
    experiment_id: string;
    /** `<scorer>:<gte|lte|eq>:<number>`, on the numbers in `scores`. */
    score?: string[];
    /** Only results created at or after this time (RFC 3339). */
    since?: string | Date;
    /** Only results created before this time (RFC 3339). */
    until?: string | Date;
    /** `created_at` (the default is `-created_at`), `updated_at`, `duration_ms` or `score:<scorer>`. */
    sort?: string;
    /** Has no effect, because results cannot be archived. */
    include_archived?: boolean;
    case_id?: string;
    dataset_record_id?: string;
    session_id?: string;
    trace_id?: string;
    /** Results with this tag. */
    tag?: string;
    /** Whether the result has an `error`. */
    has_error?: boolean;
  }, options?: RequestOptions): Pages<Result>;
  /** Add the results of up to 100 cases. */
  createResultsBulk(request: {
    experiment_id: string;
    body: BulkResults;
  }, options?: RequestOptions): ApiPromise<BulkResultsResponse>;
  /** Export an experiment's results. */
  exportResults(request: {
    experiment_id: string;
    /** `<scorer>:<gte|lte|eq>:<number>`, on the numbers in `scores`. */
    score?: string[];
    /** Only results created at or after this time (RFC 3339). */
    since?: string | Date;
    /** Only results created before this time (RFC 3339). */
    until?: string | Date;
    format?: "jsonl" | "csv";
    case_id?: string;
    dataset_record_id?: string;
    session_id?: string;
    trace_id?: string;
    /** Results with this tag. */
    tag?: string;
    /** Whether the result has an `error`. */
    has_error?: boolean;
  }, options?: RequestOptions): ApiPromise<Response>;
  /** Get a result. */
  getResult(request: {
    experiment_id: string;
    result_id: string;
  }, options?: RequestOptions): ApiPromise<Result>;
  /** Add scores to a result of a running experiment, or change its tags and metadata. */
  updateResult(request: {
    experiment_id: string;
    result_id: string;
    body: PatchResult;
  }, options?: RequestOptions): ApiPromise<Result>;
  /** Delete a result of a running experiment, and its scores. */
  deleteResult(request: {
    experiment_id: string;
    result_id: string;
    /** Deletes the resource even if something refers to it. */
    force?: boolean;
  }, options?: RequestOptions): ApiPromise<void>;
  /** List an experiment's traces. */
  listExperimentTraces(request: Paging & {
    experiment_id: string;
    /** The member to sort by, in ascending order. */
    sort?: "created_at" | "-created_at";
    /** Only items created at or after this time (RFC 3339). */
    since?: string | Date;
    /** Only items created before this time (RFC 3339). */
    until?: string | Date;
    /** Includes archived items, if the items of the list can be archived. */
    include_archived?: boolean;
    user_id?: string;
    /** `deployment.environment.name` of the resource. */
    environment?: string;
    /** One of the tags of the trace. */
    tag?: string;
    prompt_name?: string;
    prompt_version?: string;
  }, options?: RequestOptions): Pages<ExperimentTrace>;
  /** Get a trace. */
  getExperimentTrace(request: {
    experiment_id: string;
    trace_id: string;
  }, options?: RequestOptions): ApiPromise<ExperimentTrace>;
  /** List a trace's spans, by start time. */
  listExperimentTraceSpans(request: Paging & {
    experiment_id: string;
    trace_id: string;
    /** The member to sort by, in ascending order. */
    sort?: "started_at" | "-started_at";
    /** Includes archived items, if the items of the list can be archived. */
    include_archived?: boolean;
  }, options?: RequestOptions): Pages<Span>;
  /** Compute statistics of an experiment's traces. */
  queryExperimentTraceStats(request: {
    experiment_id: string;
    body?: TraceStatsQuery;
  }, options?: RequestOptions): ApiPromise<TraceStats>;
  /** List how many trials of each case pass, with pass@k and pass^k. */
  listExperimentTrials(request: Paging & {
    experiment_id: string;
    /** The lowest score of a trial that passes. */
    threshold?: number;
    /** The number of trials that pass@k and pass^k are about. */
    k?: number;
    /** The name of a scorer that has scored results of the experiment. */
    scorer: string;
  }, options?: RequestOptions): Pages<CaseTrials, ExperimentTrialPage>;
  /** Create a scorer. */
  createScorer(request: {
    /** What to do if the name is taken. */
    on_conflict?: "error" | "return" | "update";
    body: CreateCodeScorer | CreateLlmJudgeScorer | CreateHumanScorer;
  }, options?: RequestOptions): ApiPromise<Scorer>;
  /** List scorers. */
  listScorers(request?: Paging & {
    /** The member to sort by, in ascending order. */
    sort?: "created_at" | "-created_at" | "updated_at" | "-updated_at" | "name" | "-name";
    /** Only items created at or after this time (RFC 3339). */
    since?: string | Date;
    /** Only items created before this time (RFC 3339). */
    until?: string | Date;
    scorer_kind?: "code" | "llm_judge" | "human";
    grain?: "trace" | "session";
    /** Words or word prefixes in the name or description. */
    q?: string;
    /** The exact name. */
    name?: string;
    /** Scorers with this tag. */
    tag?: string;
    /** Includes archived items, if the items of the list can be archived. */
    include_archived?: boolean;
  }, options?: RequestOptions): Pages<Scorer>;
  /** Get a scorer. */
  getScorer(request: {
    /** The id, or `name:` and the name. */
    scorer_id: string;
  }, options?: RequestOptions): ApiPromise<Scorer>;
  /** Change a scorer. */
  updateScorer(request: {
    /** The id, or `name:` and the name. */
    scorer_id: string;
    body: PatchScorer;
  }, options?: RequestOptions): ApiPromise<Scorer>;
  /** Delete an archived scorer. */
  deleteScorer(request: {
    scorer_id: string;
    /** Deletes the resource even if something refers to it. */
    force?: boolean;
  }, options?: RequestOptions): ApiPromise<void>;
  /** List the versions of a scorer. */
  listScorerVersions(request: Paging & {
    /** The id, or `name:` and the name. */
    scorer_id: string;
    /** The member to sort by, in ascending order. */
    sort?: "created_at" | "-created_at";
    /** Only items created at or after this time (RFC 3339). */
    since?: string | Date;
    /** Only items created before this time (RFC 3339). */
    until?: string | Date;
    /** Includes archived items, if the items of the list can be archived. */
    include_archived?: boolean;
  }, options?: RequestOptions): Pages<ScorerVersion>;
  /** Get one version of a scorer. */
  getScorerVersion(request: {
    /** The id, or `name:` and the name. */
    scorer_id: string;
    version: string | number;
  }, options?: RequestOptions): ApiPromise<ScorerVersion>;
  /** Archive a scorer. */
  archiveScorer(request: {
    /** The id, or `name:` and the name. */
    scorer_id: string;
  }, options?: RequestOptions): ApiPromise<Scorer>;
  /** Restore an archived scorer. */
  restoreScorer(request: {
    scorer_id: string;
  }, options?: RequestOptions): ApiPromise<Scorer>;
  /** List scorer starters. */
  listScorerStarters(request?: Paging & {
    /** The member to sort by, in ascending order. */
    sort?: "created_at" | "-created_at";
    /** Includes archived items, if the items of the list can be archived. */
    include_archived?: boolean;
    scorer_kind?: "code" | "llm_judge" | "human";
    grain?: "trace" | "session";
    /** Starters with this tag. */
    tag?: string;
  }, options?: RequestOptions): Pages<ScorerStarter>;
  /** Score traces, sessions or results, or test or preview a scorer. */
  runScorer(request: {
    /** The id, or `name:` and the name. */
    scorer_id: string;
    body: ScoringRequest;
  }, options?: RequestOptions): ApiPromise<SynchronousScores | QueuedRun>;
  /** List scoring runs. */
  listScoreRuns(request?: Paging & {
    /** The member to sort by, in ascending order. */
    sort?: "created_at" | "-created_at" | "updated_at" | "-updated_at";
    /** Only items created at or after this time (RFC 3339). */
    since?: string | Date;
    /** Only items created before this time (RFC 3339). */
    until?: string | Date;
    run_status?: "queued" | "running" | "succeeded" | "failed";
    /** Runs of any version of this scorer. */
    scorer_id?: string;
    /** Runs over the results of this experiment. */
    experiment_id?: string;
    /** Runs that this rule started. */
    rule_id?: string;
    /** Runs of this batch. */
    score_batch_id?: string;
    /** Includes archived items, if the items of the list can be archived. */
    include_archived?: boolean;
  }, options?: RequestOptions): Pages<ScoreRun>;
  /** Get a scoring run. */
  getScoreRun(request: {
    score_run_id: string;
    /** Waits up to this many seconds for the work to end, then returns its state. 8 requests of a caller can wait at once in a process. */
    wait_s?: number;
  }, options?: RequestOptions): ApiPromise<ScoreRun>;
  /** List the results of a scoring run. */
  listScoreRunResults(request: Paging & {
    score_run_id: string;
    /** The member to sort by, in ascending order. */
    sort?: "created_at" | "-created_at";
    /** Only items created at or after this time (RFC 3339). */
    since?: string | Date;
    /** Only items created before this time (RFC 3339). */
    until?: string | Date;
    /** Includes archived items, if the items of the list can be archived. */
    include_archived?: boolean;
  }, options?: RequestOptions): Pages<ScoreResult>;
  /** Cancel a scoring run. */
  cancelScoreRun(request: {
    score_run_id: string;
  }, options?: RequestOptions): ApiPromise<ScoreRun>;
  /** Score up to 100,000 traces, sessions or results. */
  createScoreBatch(request: {
    /** The id, or `name:` and the name. */
    scorer_id: string;
    body: CreateScoreBatch;
  }, options?: RequestOptions): ApiPromise<ScoreBatch>;
  /** Score the results of an experiment with several scorers. */
  scoreExperiment(request: {
    experiment_id: string;
    body: ScoreExperiment;
  }, options?: RequestOptions): ApiPromise<ScoreBatches>;
  /** List batches of scoring runs. */
  listScoreBatches(request?: Paging & {
    /** The member to sort by, in ascending order. */
    sort?: "created_at" | "-created_at" | "updated_at" | "-updated_at";
    /** Only items created at or after this time (RFC 3339). */
    since?: string | Date;
    /** Only items created before this time (RFC 3339). */
    until?: string | Date;
    batch_status?: "queued" | "running" | "succeeded" | "failed";
    /** Batches of any version of this scorer. */
    scorer_id?: string;
    /** Batches over the results of this experiment. */
    experiment_id?: string;
    /** Includes archived items, if the items of the list can be archived. */
    include_archived?: boolean;
  }, options?: RequestOptions): Pages<ScoreBatch>;
  /** Get a batch of scoring runs. */
  getScoreBatch(request: {
    score_batch_id: string;
    /** Waits up to this many seconds for the work to end, then returns its state. 8 requests of a caller can wait at once in a process. */
    wait_s?: number;
  }, options?: RequestOptions): ApiPromise<ScoreBatch>;
  /** Cancel a batch of scoring runs. */
  cancelScoreBatch(request: {
    score_batch_id: string;
  }, options?: RequestOptions): ApiPromise<ScoreBatch>;
  /** Create a rule that scores traces or sessions as they arrive. */
  createScoringRule(request: {
    /** The id, or `name:` and the name. */
    scorer_id: string;
    body: CreateScoringRule;
  }, options?: RequestOptions): ApiPromise<ScoringRule>;
  /** List the rules of a scorer. */
  listScoringRules(request: Paging & {
    /** The id, or `name:` and the name. */
    scorer_id: string;
    /** The member to sort by, in ascending order. */
    sort?: "created_at" | "-created_at" | "updated_at" | "-updated_at";
    /** Only items created at or after this time (RFC 3339). */
    since?: string | Date;
    /** Only items created before this time (RFC 3339). */
    until?: string | Date;
    /** Includes archived items, if the items of the list can be archived. */
    include_archived?: boolean;
  }, options?: RequestOptions): Pages<ScoringRule>;
  /** Get a rule of a scorer. */
  getScoringRule(request: {
    rule_id: string;
    /** The id, or `name:` and the name. */
    scorer_id: string;
  }, options?: RequestOptions): ApiPromise<ScoringRule>;
  /** Change a rule of a scorer. */
  updateScoringRule(request: {
    rule_id: string;
    /** The id, or `name:` and the name. */
    scorer_id: string;
    body: PatchScoringRule;
  }, options?: RequestOptions): ApiPromise<ScoringRule>;
  /** Delete an archived rule of a scorer. */
  deleteScoringRule(request: {
    rule_id: string;
    scorer_id: string;
    /** Deletes the resource even if something refers to it. */
    force?: boolean;
  }, options?: RequestOptions): ApiPromise<void>;
  /** Archive a rule of a scorer. */
  archiveScoringRule(request: {
    /** The id, or `name:` and the name. */
    scorer_id: string;
    rule_id: string;
  }, options?: RequestOptions): ApiPromise<ScoringRule>;
  /** Restore an archived rule of a scorer. */
  restoreScoringRule(request: {
    scorer_id: string;
    rule_id: string;
  }, options?: RequestOptions): ApiPromise<ScoringRule>;
  /** List the scoring rules of all scorers. */
  listWorkspaceScoringRules(request?: Paging & {
    /** The member to sort by, in ascending order. */
    sort?: "created_at" | "-created_at" | "updated_at" | "-updated_at";
    /** Only items created at or after this time (RFC 3339). */
    since?: string | Date;
    /** Only items created before this time (RFC 3339). */
    until?: string | Date;
    /** Includes archived items, if the items of the list can be archived. */
    include_archived?: boolean;
    /** Rules of this scorer. */
    scorer_id?: string;
    enabled?: boolean;
  }, options?: RequestOptions): Pages<ScoringRule>;
  /** Record a score of a trace, a session or a result. */
  createScore(request: {
    body: CreateScore;
  }, options?: RequestOptions): ApiPromise<Score>;
  /** List scores of all sources. */
  listScores(request?: Paging & {
    scorer_version?: number;
    scorer_kind?: "code" | "llm_judge" | "human";
    source?: "client" | "hosted" | "human" | "end_user";
    /** `trace` excludes scores of results that reference a trace. */
    target_kind?: "trace" | "session" | "result";
    /** Scores of this version of a result. */
    result_version?: number;
    /** Scores of at least this number. */
    min_score?: number;
    /** Scores of at most this number. */
    max_score?: number;
    /** Scores recorded at this time or later (RFC 3339). */
    since?: string | Date;
    /** Scores recorded before this time (RFC 3339). */
    until?: string | Date;
    /** The member to sort by, in ascending order. */
    sort?: "created_at" | "-created_at" | "score" | "-score";
    /** Scores whose comment contains this text, in upper or lower case. */
    comment?: string;
    /** Scores whose answers contain this JSON object, such as `{"tone": "kind"}`. */
    answers?: string;
    /** Scores whose metadata contains this JSON object, such as `{"build": {"branch": "main"}}`. */
    metadata?: string;
    /** The score that supersedes this one. */
    supersedes_score_id?: string;
    /** The scores that this one supersedes. */
    superseded_by_score_id?: string;
    /** Includes superseded scores. */
    include_superseded?: boolean;
    /** Scores by any version of this scorer. */
    scorer_id?: string;
    /** Scores under this name, whether or not a scorer has it. */
    scorer_name?: string;
    /** Scores of this trace and of results that reference it. */
    trace_id?: string;
    /** Scores of this session, of its traces, and of results that reference it. */
    session_id?: string;
    result_id?: string;
    /** Scores of this experiment's results. */
    experiment_id?: string;
    case_id?: string;
    label?: string;
    span_id?: string;
    /** Scores by judges of this model, as the provider answered it. */
    model?: string;
    judge_digest?: string;
    /** Scores by a hosted scorer that saw only a part of a transcript, or the others. */
    is_truncated?: boolean;
    author?: string;
    score_run_id?: string;
    /** Scores that this principal recorded, or whose run this principal started. */
    created_by?: string;
  }, options?: RequestOptions): Pages<Score>;
  /** Record up to 100 scores. */
  createScoresBulk(request: {
    body: BulkScores;
  }, options?: RequestOptions): ApiPromise<BulkScoresResponse>;
  /** Compute statistics of all scores that are not superseded. */
  queryScoreStats(request?: {
    body?: ScoreStatsQuery;
  }, options?: RequestOptions): ApiPromise<ScoreStats>;
  /** Get a score. */
  getScore(request: {
    score_id: string;
  }, options?: RequestOptions): ApiPromise<Score>;
  /** Delete a score. */
  deleteScore(request: {
    score_id: string;
  }, options?: RequestOptions): ApiPromise<void>;
  /** Create an annotation queue. */
  createAnnotationQueue(request: {
    /** What to do if the name is taken. */
    on_conflict?: "error" | "return" | "update";
    body: CreateAnnotationQueue;
  }, options?: RequestOptions): ApiPromise<AnnotationQueue>;
  /** List annotation queues. */
  listAnnotationQueues(request?: Paging & {
    /** The member to sort by, in ascending order. */
    sort?: "created_at" | "-created_at" | "updated_at" | "-updated_at" | "name" | "-name";
    /** Only items created at or after this time (RFC 3339). */
    since?: string | Date;
    /** Only items created before this time (RFC 3339). */
    until?: string | Date;
    /** Includes archived items, if the items of the list can be archived. */
    include_archived?: boolean;
    /** The exact name. */
    name?: string;
    /** Words or word prefixes in the name or description. */
    q?: string;
  }, options?: RequestOptions): Pages<AnnotationQueue>;
  /** Get an annotation queue and its progress. */
  getAnnotationQueue(request: {
    /** The id, or `name:` and the name. */
    queue_id: string;
  }, options?: RequestOptions): ApiPromise<AnnotationQueue>;
  /** Change an annotation queue. */
  updateAnnotationQueue(request: {
    /** The id, or `name:` and the name. */
    queue_id: string;
    body: PatchAnnotationQueue;
  }, options?: RequestOptions): ApiPromise<AnnotationQueue>;
  /** Delete an archived annotation queue. */
  deleteAnnotationQueue(request: {
    queue_id: string;
    /** Deletes the resource even if something refers to it. */
    force?: boolean;
  }, options?: RequestOptions): ApiPromise<void>;
  /** Measure the agreement of the annotators of a queue. */
  getAnnotationQueueAgreement(request: {
    /** The id, or `name:` and the name. */
    queue_id: string;
  }, options?: RequestOptions): ApiPromise<QueueAgreement>;
  /** Archive an annotation queue. */
  archiveAnnotationQueue(request: {
    /** The id, or `name:` and the name. */
    queue_id: string;
  }, options?: RequestOptions): ApiPromise<AnnotationQueue>;
  /** Restore an archived annotation queue. */
  restoreAnnotationQueue(request: {
    queue_id: string;
  }, options?: RequestOptions): ApiPromise<AnnotationQueue>;
  /** Claim the next item of an annotation queue. */
  claimAnnotationItem(request: {
    /** The id, or `name:` and the name. */
    queue_id: string;
    body: ClaimItem;
  }, options?: RequestOptions): ApiPromise<ClaimResponse>;
  /** List the items of an annotation queue in the order of work. */
  listAnnotationItems(request: Paging & {
    /** The id, or `name:` and the name. */
    queue_id: string;
    /** The member to sort by, in ascending order. */
    sort?: "created_at" | "-created_at";
    /** Only items created at or after this time (RFC 3339). */
    since?: string | Date;
    /** Only items created before this time (RFC 3339). */
    until?: string | Date;
    item_status?: "pending" | "in_progress" | "skipped" | "completed";
  }, options?: RequestOptions): Pages<AnnotationItem>;
  /** List the people who work on an annotation queue. */
  listAnnotators(request: Paging & {
    /** The id, or `name:` and the name. */
    queue_id: string;
    /** The member to sort by, in ascending order. */
    sort?: "created_at" | "-created_at";
    /** Only items created at or after this time (RFC 3339). */
    since?: string | Date;
    /** Only items created before this time (RFC 3339). */
    until?: string | Date;
  }, options?: RequestOptions): Pages<Annotator>;
  /** Score an item of an annotation queue. */
  scoreAnnotationItem(request: {
    /** The id, or `name:` and the name. */
    queue_id: string;
    item_id: string;
    body: ScoreItem;
  }, options?: RequestOptions): ApiPromise<ItemOutcome>;
  /** Skip an item of an annotation queue. */
  skipAnnotationItem(request: {
    /** The id, or `name:` and the name. */
    queue_id: string;
    item_id: string;
    body: SkipItem;
  }, options?: RequestOptions): ApiPromise<ItemOutcome>;
  /** List the items of your organization, newest first. */
  listPublisherItems(request?: {
    /** The maximum number of items on a page; 0 returns only the total. */
    limit?: number;
    /** The number of items to skip, from the newest. */
    offset?: number;
    /** `false` omits the total: it is null. */
    total?: boolean;
    /** Only items with exactly this name. */
    name?: string;
  }, options?: RequestOptions): Pages<StoreItem, StoreItemsPage>;
  /** Publish a resource and its dependencies as a new item. */
  createPublisherItem(request: {
    body: CreatePublisherItem;
  }, options?: RequestOptions): ApiPromise<PublisherItem>;
  /** Get an item of your organization. */
  getPublisherItem(request: {
    store_item_id: string;
  }, options?: RequestOptions): ApiPromise<PublisherItem>;
  /** Change the texts of an item. */
  updatePublisherItem(request: {
    store_item_id: string;
    body: PatchPublisherItem;
  }, options?: RequestOptions): ApiPromise<PublisherItem>;
  /** Delete a withdrawn item, with its releases and their packages. */
  deletePublisherItem(request: {
    store_item_id: string;
    /** Deletes the resource even if something refers to it. */
    force?: boolean;
  }, options?: RequestOptions): ApiPromise<void>;
  /** Replace the policy of an item: who sees it, whether it is listed, and whether it can be acquired. */
  setPublisherItemPolicy(request: {
    store_item_id: string;
    body: PublisherItemPolicy;
  }, options?: RequestOptions): ApiPromise<PublisherItem>;
  /** Withdraw an item permanently. */
  withdrawPublisherItem(request: {
    store_item_id: string;
  }, options?: RequestOptions): ApiPromise<PublisherItem>;
  /** Publish a new release of an item. */
  createPublisherItemRelease(request: {
    store_item_id: string;
    body: CreatePublisherItemRelease;
  }, options?: RequestOptions): ApiPromise<PublisherItem>;
  /** List the releases of an item, newest first. */
  listPublisherItemReleases(request: Paging & {
    store_item_id: string;
    /** The member to sort by, in ascending order. */
    sort?: "created_at" | "-created_at";
    /** Only items created at or after this time (RFC 3339). */
    since?: string | Date;
    /** Only items created before this time (RFC 3339). */
    until?: string | Date;
  }, options?: RequestOptions): Pages<CatalogueRelease & { created_by: string; }>;
  /** List the items in the catalogue of your organization, newest first. */
  listStoreItems(request?: Paging & {
    /** The member to sort by, in ascending order. */
    sort?: "created_at" | "-created_at";
    /** Only items created at or after this time (RFC 3339). */
    since?: string | Date;
    /** Only items created before this time (RFC 3339). */
    until?: string | Date;
    /** Words or word prefixes in the name or the tagline. */
    q?: string;
    /** Only items with exactly this name. */
    name?: string;
    /** Only items of this category. */
    category?: "agents" | "skills" | "tools" | "data" | "evaluation" | "other";
    /** Only items with this topic. */
    topic?: string;
  }, options?: RequestOptions): Pages<CatalogueItem>;
  /** Get an item whose audience includes your organization, listed or not. */
  getStoreItem(request: {
    store_item_id: string;
  }, options?: RequestOptions): ApiPromise<CatalogueItem>;
  /** List the releases of an item, newest first. */
  listStoreItemReleases(request: Paging & {
    store_item_id: string;
    /** The member to sort by, in ascending order. */
    sort?: "created_at" | "-created_at";
    /** Only items created at or after this time (RFC 3339). */
    since?: string | Date;
    /** Only items created before this time (RFC 3339). */
    until?: string | Date;
  }, options?: RequestOptions): Pages<CatalogueRelease>;
  /** Download the package of an item. */
  getStoreItemPackage(request: {
    store_item_id: string;
    /** Defaults to the newest release. */
    release_id?: string;
  }, options?: RequestOptions): ApiPromise<Response>;
  /** Mark the newest release of an item as reviewed, or as not reviewed. */
  reviewStoreItem(request: {
    store_item_id: string;
    body: ReviewStoreItem;
  }, options?: RequestOptions): ApiPromise<StoreItem>;
  /** Acquire an item by installing copies of everything in its package. */
  acquireStoreItem(request: {
    store_item_id: string;
    body: AcquireStoreItem;
  }, options?: RequestOptions): ApiPromise<Acquisition>;
  /** List acquisitions, newest first. */
  listAcquisitions(request?: Paging & {
    /** The member to sort by, in ascending order. */
    sort?: "created_at" | "-created_at";
    /** Only items created at or after this time (RFC 3339). */
    since?: string | Date;
    /** Only items created before this time (RFC 3339). */
    until?: string | Date;
    /** Only acquisitions of this workspace. */
    workspace_id?: string;
    /** Only acquisitions of this item. */
    store_item_id?: string;
  }, options?: RequestOptions): Pages<Acquisition>;
  /** Get an acquisition. */
  getAcquisition(request: {
    acquisition_id: string;
  }, options?: RequestOptions): ApiPromise<Acquisition>;
  /** Upgrade an acquisition to the newest release, or to another one. */
  upgradeAcquisition(request: {
    acquisition_id: string;
    body: UpgradeAcquisition;
  }, options?: RequestOptions): ApiPromise<Acquisition & { changes: UpgradeChange[]; }>;
  /** Send a message of the Model Context Protocol. */
  runMcpRequest(request: {
    body: McpRequest | McpRequest[];
  }, options?: RequestOptions): ApiPromise<McpResult | McpError | (McpResult | McpError)[] | undefined>;
  /** Get the metadata of the MCP endpoint as an OAuth 2.0 protected resource (RFC 9728). */
  getProtectedResourceMcp(request?: {}, options?: RequestOptions): ApiPromise<ProtectedResource>;
  /** Get the metadata of the MCP endpoint at the root of the well-known path (RFC 9728). */
  getProtectedResource(request?: {}, options?: RequestOptions): ApiPromise<ProtectedResource>;
  /** Call a registered API (GET). */
  forwardGet(request: {
    api_id: string;
    /** The path to append to the base URL of the API, forwarded byte for byte. */
    path: string;
  }, options?: RequestOptions): ApiPromise<Response>;
  /** Call a registered API (HEAD). */
  forwardHead(request: {
    api_id: string;
    /** The path to append to the base URL of the API, forwarded byte for byte. */
    path: string;
  }, options?: RequestOptions): ApiPromise<Response>;
  /** Call a registered API (POST). */
  forwardPost(request: {
    api_id: string;
    /** The path to append to the base URL of the API, forwarded byte for byte. */
    path: string;
    body?: RawBody;
  }, options?: RequestOptions): ApiPromise<Response>;
  /** Call a registered API (PUT). */
  forwardPut(request: {
    api_id: string;
    /** The path to append to the base URL of the API, forwarded byte for byte. */
    path: string;
    body?: RawBody;
  }, options?: RequestOptions): ApiPromise<Response>;
  /** Call a registered API (PATCH). */
  forwardPatch(request: {
    api_id: string;
    /** The path to append to the base URL of the API, forwarded byte for byte. */
    path: string;
    body?: RawBody;
  }, options?: RequestOptions): ApiPromise<Response>;
  /** Call a registered API (DELETE). */
  forwardDelete(request: {
    api_id: string;
    /** The path to append to the base URL of the API, forwarded byte for byte. */
    path: string;
    body?: RawBody;
  }, options?: RequestOptions): ApiPromise<Response>;
  /** Call a registered API (OPTIONS). */
  forwardOptions(request: {
    api_id: string;
    /** The path to append to the base URL of the API, forwarded byte for byte. */
    path: string;
    body?: RawBody;
  }, options?: RequestOptions): ApiPromise<Response>;
  /** Create a chat completion. */
  createChatCompletion(request: {
    body: {
  /** The name or the id of a model. */
  model: string;
  /** Whether to stream the response as server-sent events. */
  stream?: boolean;
  messages: unknown[];
  [key: string]: unknown;
};
  }, options?: RequestOptions): ApiPromise<{ [key: string]: unknown; }>;
  /** Create a response. */
  createModelResponse(request: {
    body: {
  /** The name or the id of a model. */
  model: string;
  /** Whether to stream the response as server-sent events. */
  stream?: boolean;
  input?: unknown;
  [key: string]: unknown;
};
  }, options?: RequestOptions): ApiPromise<{ [key: string]: unknown; }>;
  /** Create embeddings. */
  createEmbeddings(request: {
    body: {
  /** The name or the id of a model. */
  model: string;
  input: unknown;
  [key: string]: unknown;
};
  }, options?: RequestOptions): ApiPromise<{ [key: string]: unknown; }>;
  /** Create a message. */
  createModelMessage(request: {
    /** Sent by Anthropic's clients, and ignored. */
    beta?: string;
    body: {
  /** The name or the id of a model. */
  model: string;
  /** Whether to stream the response as server-sent events. */
  stream?: boolean;
  messages: unknown[];
  max_tokens?: number;
  [key: string]: unknown;
};
  }, options?: RequestOptions): ApiPromise<{ [key: string]: unknown; }>;
  /** Count the input tokens of a message. */
  countModelMessageTokens(request: {
    /** Sent by Anthropic's clients, and ignored. */
    beta?: string;
    body: {
  /** The name or the id of a model. */
  model: string;
  messages: unknown[];
  [key: string]: unknown;
};
  }, options?: RequestOptions): ApiPromise<{
  input_tokens: number;
  /** True if the gateway has estimated the number. */
  is_estimated?: boolean;
  [key: string]: unknown;
}>;
}
