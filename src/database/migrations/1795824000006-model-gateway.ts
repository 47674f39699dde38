import { sealedByColumn, SqlMigration } from './sql-migration';

/** Providers, models, keys and budgets of the model gateway, its usage and spending, and cached responses. */
export class ModelGateway1795824000006 extends SqlMigration {
  protected readonly sql = `
    -- The providers to which the gateway sends calls.
    CREATE TABLE model_providers (
      provider_id text COLLATE "C" PRIMARY KEY,
      org_id text COLLATE "C" NOT NULL REFERENCES organizations,
      workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces,
      name text NOT NULL,
      description text,
      kind text COLLATE "C" NOT NULL CONSTRAINT model_providers_kind CHECK (kind IN ('openai', 'anthropic')),
      -- without a query and without a trailing slash
      base_url text NOT NULL,
      -- encrypted, and bound to this provider
      api_key text,
      ${sealedByColumn('api_key')},
      headers json NOT NULL,
      metadata json NOT NULL,
      generation integer NOT NULL,
      created_at timestamptz NOT NULL,
      updated_at timestamptz NOT NULL,
      created_by text COLLATE "C" NOT NULL,
      archived_at timestamptz,
      search tsvector GENERATED ALWAYS AS
        (search_words(name || ' ' || base_url || ' ' || coalesce(description, ''))) STORED
    );
    CREATE UNIQUE INDEX model_providers_name ON model_providers (workspace_id, name) WHERE archived_at IS NULL;
    -- GET /model/v1/providers: sorts created_at, updated_at and name, in the organization and in one workspace, and filters
    -- name, kind and q
    CREATE INDEX model_providers_by_creation ON model_providers (org_id, provider_id);
    CREATE INDEX model_providers_by_update ON model_providers (org_id, updated_at, provider_id);
    CREATE INDEX model_providers_by_name ON model_providers (org_id, (name COLLATE "C"), provider_id);
    CREATE INDEX model_providers_of_workspace_by_creation ON model_providers (workspace_id, provider_id);
    CREATE INDEX model_providers_of_workspace_by_update ON model_providers (workspace_id, updated_at, provider_id);
    CREATE INDEX model_providers_of_workspace_by_name ON model_providers (workspace_id, (name COLLATE "C"), provider_id);
    CREATE INDEX model_providers_by_kind ON model_providers (org_id, kind, provider_id);
    CREATE INDEX model_providers_search ON model_providers USING gin (search);
    -- rotate-secrets
    CREATE INDEX model_providers_sealed_by ON model_providers (api_key_sealed_by, provider_id)
      WHERE api_key_sealed_by IS NOT NULL;

    -- The models that clients call. Each has one or more targets: a provider, and the model to call there.
    CREATE TABLE models (
      model_id text COLLATE "C" PRIMARY KEY,
      org_id text COLLATE "C" NOT NULL REFERENCES organizations,
      workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces,
      -- the name that clients send as "model"
      name text COLLATE "C" NOT NULL,
      description text,
      strategy text COLLATE "C" NOT NULL
        CONSTRAINT models_strategy CHECK (strategy IN ('single', 'fallback', 'weighted')),
      -- [{"provider_id", "upstream_model", "weight", "price"}]
      targets jsonb NOT NULL,
      -- the kind of the first target's provider, which never changes
      owned_by text COLLATE "C" NOT NULL,
      retries integer NOT NULL,
      timeout_ms integer NOT NULL,
      -- seconds for which calls avoid a target after three failures in a row; 0 disables this
      cooldown_s integer NOT NULL,
      -- null without a budget
      monthly_budget_usd double precision,
      -- null if responses are not cached
      cache_ttl_seconds integer,
      capture_content boolean NOT NULL,
      record_spans boolean NOT NULL,
      metadata json NOT NULL,
      generation integer NOT NULL,
      created_at timestamptz NOT NULL,
      updated_at timestamptz NOT NULL,
      created_by text COLLATE "C" NOT NULL,
      archived_at timestamptz,
      search tsvector GENERATED ALWAYS AS (search_words(name || ' ' || coalesce(description, ''))) STORED
    );
    CREATE UNIQUE INDEX models_name ON models (workspace_id, name) WHERE archived_at IS NULL;
    -- GET /model/v1/models: sorts created_at, updated_at and name, in the organization and in one workspace, and filters
    -- name, strategy, provider_id and q
    CREATE INDEX models_by_creation ON models (org_id, model_id);
    CREATE INDEX models_by_update ON models (org_id, updated_at, model_id);
    -- also used by calls, which look up their model by name in the organization
    CREATE INDEX models_by_name ON models (org_id, name, model_id);
    CREATE INDEX models_of_workspace_by_creation ON models (workspace_id, model_id);
    CREATE INDEX models_of_workspace_by_update ON models (workspace_id, updated_at, model_id);
    CREATE INDEX models_of_workspace_by_name ON models (workspace_id, name, model_id);
    CREATE INDEX models_by_strategy ON models (org_id, strategy, model_id);
    CREATE INDEX models_by_target ON models USING gin (targets jsonb_path_ops);
    CREATE INDEX models_search ON models USING gin (search);

    -- API keys that were created for the gateway, each with a service account. Their limits are in api_keys
    CREATE TABLE gateway_keys (
      service_account_id text COLLATE "C" PRIMARY KEY REFERENCES service_accounts ON DELETE CASCADE,
      key_id text COLLATE "C" NOT NULL REFERENCES api_keys ON DELETE CASCADE,
      org_id text COLLATE "C" NOT NULL REFERENCES organizations,
      workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces,
      name text NOT NULL,
      generation integer NOT NULL,
      created_at timestamptz NOT NULL,
      updated_at timestamptz NOT NULL,
      created_by text COLLATE "C" NOT NULL
    );
    CREATE UNIQUE INDEX gateway_keys_key ON gateway_keys (key_id);
    -- GET /model/v1/keys: sorts created_at, updated_at and name, in the organization and in one workspace, and filters name
    CREATE INDEX gateway_keys_by_creation ON gateway_keys (org_id, key_id);
    CREATE INDEX gateway_keys_by_update ON gateway_keys (org_id, updated_at, key_id);
    CREATE INDEX gateway_keys_by_name ON gateway_keys (org_id, (name COLLATE "C"), key_id);
    -- with both conditions of the list, which two bitmaps would meet as long as the table is not analyzed
    CREATE INDEX gateway_keys_of_workspace_by_creation ON gateway_keys (workspace_id, org_id, key_id);
    CREATE INDEX gateway_keys_of_workspace_by_update ON gateway_keys (workspace_id, updated_at, key_id);
    CREATE INDEX gateway_keys_of_workspace_by_name ON gateway_keys (workspace_id, (name COLLATE "C"), key_id);

    -- The budget of a workspace for all of its models together.
    CREATE TABLE model_budgets (
      workspace_id text COLLATE "C" PRIMARY KEY REFERENCES workspaces,
      org_id text COLLATE "C" NOT NULL REFERENCES organizations,
      monthly_budget_usd double precision NOT NULL,
      updated_at timestamptz NOT NULL,
      updated_by text COLLATE "C" NOT NULL
    );

    -- What calls used and cost. One row for each day (UTC), not for each call
    CREATE TABLE model_usage (
      workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces,
      day date NOT NULL,
      model_id text COLLATE "C" NOT NULL,
      principal_id text COLLATE "C" NOT NULL,
      -- empty for cached responses
      provider_id text COLLATE "C" NOT NULL,
      upstream_model text COLLATE "C" NOT NULL,
      org_id text COLLATE "C" NOT NULL,
      call_count bigint NOT NULL,
      failed_count bigint NOT NULL,
      cached_count bigint NOT NULL,
      -- requests to the provider, also those of calls that another provider answered
      attempts bigint NOT NULL,
      failed_attempts bigint NOT NULL,
      -- calls without a known price, which cost_usd does not include
      unpriced_count bigint NOT NULL,
      -- calls whose tokens were estimated, at least in part
      estimated_count bigint NOT NULL,
      input_tokens bigint NOT NULL,
      output_tokens bigint NOT NULL,
      cached_input_tokens bigint NOT NULL,
      cache_write_tokens bigint NOT NULL,
      cost_usd double precision NOT NULL,
      -- the part of cost_usd that was estimated
      estimated_usd double precision NOT NULL,
      PRIMARY KEY (workspace_id, day, model_id, principal_id, provider_id, upstream_model)
    ) WITH (fillfactor = 70);
    -- GET /model/v1/usage: the organization, by day, and the usage of one principal
    CREATE INDEX model_usage_of_org ON model_usage (org_id, day);
    CREATE INDEX model_usage_of_principal ON model_usage (org_id, principal_id, day);

    -- The spending of a month (UTC) that counts against a budget: of a model, a workspace or a service account
    CREATE TABLE model_spend (
      subject text COLLATE "C" NOT NULL,
      month date NOT NULL,
      spent_usd double precision NOT NULL,
      org_id text COLLATE "C" NOT NULL,
      -- null for a service account
      workspace_id text COLLATE "C",
      PRIMARY KEY (subject, month)
    ) WITH (fillfactor = 50);
    -- erasures
    CREATE INDEX model_spend_of_workspace ON model_spend (workspace_id);
    CREATE INDEX model_spend_of_org ON model_spend (org_id);

    -- US dollars that each process has reserved in the budget of a subject. A row that its process does not renew expires
    CREATE TABLE model_reservations (
      subject text COLLATE "C" NOT NULL,
      process_id text COLLATE "C" NOT NULL,
      reserved_usd double precision NOT NULL,
      expires_at timestamptz NOT NULL,
      PRIMARY KEY (subject, process_id)
    ) WITH (fillfactor = 50);

    -- The last failure of each target of a model, from which all processes learn the cooldowns
    CREATE TABLE model_target_failures (
      model_id text COLLATE "C" NOT NULL REFERENCES models ON DELETE CASCADE,
      provider_id text COLLATE "C" NOT NULL REFERENCES model_providers ON DELETE CASCADE,
      upstream_model text COLLATE "C" NOT NULL,
      -- the failure no longer counts once the model or the provider has changed
      model_generation integer NOT NULL,
      provider_generation integer NOT NULL,
      last_error_at timestamptz NOT NULL,
      -- end of the cooldown; null if the target has none, or has answered since
      rests_until timestamptz,
      PRIMARY KEY (model_id, provider_id, upstream_model)
    ) WITH (fillfactor = 50);

    -- Responses that are returned again for the same request
    CREATE TABLE model_answers (
      model_id text COLLATE "C" NOT NULL REFERENCES models ON DELETE CASCADE,
      request_sha256 bytea NOT NULL,
      body bytea NOT NULL,
      created_at timestamptz NOT NULL,
      expires_at timestamptz NOT NULL,
      PRIMARY KEY (model_id, request_sha256)
    );
    -- the worker deletes expired responses
    CREATE INDEX model_answers_by_expiry ON model_answers (expires_at);

    -- The rate limit that each model has shown, shared by all processes. Deleted after a day without one, so no erasure
    -- needs to find the rows of a tenant.
    CREATE TABLE model_limits (
      model text COLLATE "C" PRIMARY KEY,
      state jsonb,
      updated_at timestamptz NOT NULL DEFAULT now()
    );
  `;
}
