import { Injectable } from '@nestjs/common';
import { LoadingCache } from '#platform/concurrency';
import { SecretBox } from '#platform/secrets';
import { ProviderChanges } from '../providers/provider-changes';
import { PROVIDER_SECRET, type ProviderKind } from '../providers/provider.entity';
import { CalledModelRepository, type CalledModelRow, type ProviderRow } from './called-model.repository';
import type { ModelEntity, ModelTarget } from './model.entity';

/** A server to send requests to. */
export interface CalledProvider {
  readonly provider_id: string;
  readonly name: string;
  readonly kind: ProviderKind;
  readonly is_archived: boolean;
  /** Set for a provider that was deleted while the model kept it as a target. It has no address. */
  readonly is_erased?: true;
  readonly generation: number;
  /** Whether the operator configured the address, which may then be private. */
  readonly isTrusted: boolean;
  readonly base: URL;
  /** The parts of the base URL. The path has no trailing slash. */
  readonly origin: string;
  readonly path: string;
  readonly query: string;
  /** Headers of every request, by lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  /**
   * Returns the API key, or null if there is none.
   *
   */
  readonly apiKey: () => string | null;
}

/** A target of a model, with its provider. */
export type CalledTarget = Readonly<Omit<ModelTarget, 'provider_id'>> & {
  readonly provider: CalledProvider;
  /** End of the stored cooldown, as a time of `performance.now()`. 0 if the target has none, or has answered since. */
  readonly restsUntil: number;
};

/** A live model to call. Its workspace and providers may be archived. All callers share the object, so it must not be modified. */
export type CalledModel = Readonly<Omit<ModelEntity, 'targets'>> & {
  readonly is_workspace_archived: boolean;
  readonly targets: readonly CalledTarget[];
};

/** Looks up models for calls. Caches existing models for at most 1 s. */
@Injectable()
export class ModelDirectory {
  private readonly cache = new LoadingCache<readonly CalledModel[]>({ lifetimeMs });
  /** For internal calls, which have no organization. */
  private readonly internalCache = new LoadingCache<readonly CalledModel[]>({ lifetimeMs });

  constructor(
    private readonly models: CalledModelRepository,
    private readonly box: SecretBox,
    providers: ProviderChanges,
  ) {
    providers.onChange((orgId) => this.invalidate(orgId));
  }

  /** Returns the live models of an organization with this name or id, one for each workspace, without an access check. */
  find(orgId: string, nameOrId: string): Promise<readonly CalledModel[]> {
    return this.cache.find(keyOf(orgId, nameOrId), async () =>
      (await this.models.find(orgId, nameOrId)).map((row) => toCalledModel(row, this.box)),
    );
  }

  /** Returns the same as `find` synchronously, or undefined if it is not cached. */
  getCached(orgId: string, nameOrId: string): readonly CalledModel[] | undefined {
    return this.cache.getCached(keyOf(orgId, nameOrId));
  }

  /** Returns the live model of a workspace with this name or id, or undefined. */
  async findIn(workspaceId: string, nameOrId: string): Promise<CalledModel | undefined> {
    const [model] = await this.internalCache.find(keyOf(workspaceId, nameOrId), async () =>
      (await this.models.findIn(workspaceId, nameOrId)).map((row) => toCalledModel(row, this.box)),
    );
    return model;
  }

  /** Returns the live model with this id, or undefined. */
  async findById(modelId: string): Promise<CalledModel | undefined> {
    const [model] = await this.internalCache.find(modelId, async () =>
      (await this.models.findById(modelId)).map((row) => toCalledModel(row, this.box)),
    );
    return model;
  }

  /** Removes the models of an organization from the cache, because a model or a provider has changed. */
  invalidate(orgId: string): void {
    this.cache.invalidateAll((key) => key.startsWith(keyOf(orgId, '')));
    this.internalCache.invalidateAll();
  }

  /** Removes one model from the cache, because the state of its targets has changed. */
  invalidateModel({ org_id, workspace_id, model_id, name }: CalledModel): void {
    for (const key of [model_id, name]) {
      this.cache.invalidate(keyOf(org_id, key));
      this.internalCache.invalidate(keyOf(workspace_id, key));
    }
    this.internalCache.invalidate(model_id);
  }
}

const lifetimeMs = (models: readonly CalledModel[]): number => (models.length > 0 ? 1_000 : 0);

const keyOf = (owner: string, nameOrId: string): string => `${owner} ${nameOrId}`;

function toCalledModel({ providers, targets, rests, ...model }: CalledModelRow, box: SecretBox): CalledModel {
  const providersById = new Map(providers.map((row) => [row.provider_id, toCalledProvider(row, box)]));
  const calledTargets = targets.map(({ provider_id, ...target }): CalledTarget => {
    const provider = providersById.get(provider_id) ?? erasedProvider(provider_id);
    const rest = rests.find(
      (one) =>
        one.provider_id === provider_id &&
        one.upstream_model === target.upstream_model &&
        one.generation === provider.generation,
    );
    return { ...target, provider, restsUntil: rest ? Math.max(performance.now() + rest.remaining_ms, 1) : 0 };
  });
  return { ...model, targets: calledTargets };
}

/** Stands for a provider that was deleted. */
const erasedProvider = (provider_id: string): CalledProvider => ({
  provider_id,
  name: provider_id,
  kind: 'openai',
  is_archived: true,
  is_erased: true,
  generation: 0,
  isTrusted: false,
  base: new URL('https://erased.invalid'),
  origin: 'https://erased.invalid',
  path: '',
  query: '',
  headers: {},
  apiKey: () => null,
});

function toCalledProvider(row: ProviderRow, box: SecretBox): CalledProvider {
  const { base_url, api_key, headers, ...provider } = row;
  const base = new URL(base_url);
  let key: string | null | undefined;
  return {
    ...provider,
    isTrusted: false,
    base,
    origin: base.origin,
    path: base.pathname.replace(/\/$/, ''),
    query: '',
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])),
    apiKey: () => (key ??= api_key === null ? null : box.open(api_key, PROVIDER_SECRET.of(row.provider_id))),
  };
}
