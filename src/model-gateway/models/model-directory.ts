import { Injectable } from '@nestjs/common';
import { LoadingCache } from '#platform/concurrency';
import { SecretBox } from '#platform/secrets';
import { ProviderChanges } from '../providers/provider-changes';
import { providerSecretUse } from '../providers/provider.entity';
import { CalledModelRepository, type CalledModelRow, type ProviderRow } from './called-model.repository';
import type { ModelEntity, ModelTarget } from './model.entity';

/** The provider of a target. `api_key` is encrypted. See `ModelDirectory.apiKeyOf`. */
export type CalledProvider = Readonly<Omit<ProviderRow, 'base_url' | 'headers'>> & {
  /** The parsed base URL, without a trailing slash unless it has no path. */
  readonly base: URL;
  readonly headers: Readonly<Record<string, string>>;
};

/** A target of a model, with its provider. */
export type CalledTarget = Readonly<Omit<ModelTarget, 'provider_id'>> & { readonly provider: CalledProvider };

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

  /** Decrypted keys, kept as long as their providers are cached. */
  private readonly apiKeys = new WeakMap<CalledProvider, string>();

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
      (await this.models.find(orgId, nameOrId)).map(toCalledModel),
    );
  }

  /** Returns the same as `find` synchronously, or undefined if it is not cached. */
  getCached(orgId: string, nameOrId: string): readonly CalledModel[] | undefined {
    return this.cache.getCached(keyOf(orgId, nameOrId));
  }

  /** Returns the live model of a workspace with this name or id, or undefined. */
  async findIn(workspaceId: string, nameOrId: string): Promise<CalledModel | undefined> {
    const [model] = await this.internalCache.find(`${workspaceId} ${nameOrId}`, async () =>
      (await this.models.findIn(workspaceId, nameOrId)).map(toCalledModel),
    );
    return model;
  }

  /** Returns the live model with this id, or undefined. */
  async findById(modelId: string): Promise<CalledModel | undefined> {
    const [model] = await this.internalCache.find(modelId, async () =>
      (await this.models.findById(modelId)).map(toCalledModel),
    );
    return model;
  }

  /** Removes the models of an organization from the cache, because a model or a provider has changed. */
  invalidate(orgId: string): void {
    this.cache.invalidateAll((key) => key.startsWith(keyOf(orgId, '')));
    this.internalCache.invalidateAll();
  }

  /**
   * Returns the API key of a provider, or null if it has none.
   *
   * @throws SealedSecretError if it was encrypted with another `SECRETS_KEY` or for another provider
   */
  apiKeyOf(provider: CalledProvider): string | null {
    const { provider_id, api_key } = provider;
    if (api_key === null) return null;
    const cached = this.apiKeys.get(provider);
    if (cached !== undefined) return cached;
    const decrypted = this.box.open(api_key, providerSecretUse(provider_id));
    this.apiKeys.set(provider, decrypted);
    return decrypted;
  }
}

const lifetimeMs = (models: readonly CalledModel[]): number => (models.length > 0 ? 1_000 : 0);

const keyOf = (orgId: string, nameOrId: string): string => `${orgId} ${nameOrId}`;

function toCalledModel({ providers, targets, ...model }: CalledModelRow): CalledModel {
  const providersById = new Map(
    providers.map(({ base_url, ...provider }): [string, CalledProvider] => [
      provider.provider_id,
      { ...provider, base: new URL(base_url) },
    ]),
  );
  const calledTargets = targets.map(({ provider_id, ...target }): CalledTarget => {
    const provider = providersById.get(provider_id);
    if (!provider) throw new Error(`The model ${model.model_id} has no provider ${provider_id}.`);
    return { ...target, provider };
  });
  return { ...model, targets: calledTargets };
}
