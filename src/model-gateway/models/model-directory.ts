import { Injectable } from '@nestjs/common';
import { BriefCache } from '#platform/concurrency';
import { SecretBox } from '#platform/secrets';
import { ProviderChanges } from '../providers/provider-changes';
import { providerSecretUse } from '../providers/provider.entity';
import { CalledModelRepository, type CalledModelRow, type ProviderRow } from './called-model.repository';
import type { ModelEntity, ModelTarget } from './model.entity';

/** The provider of a target. `api_key` is sealed: see `ModelDirectory.apiKeyOf`. */
export type CalledProvider = Readonly<Omit<ProviderRow, 'base_url' | 'headers'>> & {
  /** The base URL, parsed, without a slash at its end unless it has no path. */
  readonly base: URL;
  readonly headers: Readonly<Record<string, string>>;
};

/** A target of a model, with its provider. */
export type CalledTarget = Readonly<Omit<ModelTarget, 'provider_id'>> & { readonly provider: CalledProvider };

/** A live model to call. Its workspace and its providers may be archived. Shared by all callers, so it must not be changed. */
export type CalledModel = Readonly<Omit<ModelEntity, 'targets'>> & {
  readonly is_workspace_archived: boolean;
  readonly targets: readonly CalledTarget[];
};

/** Finds models to call them. Caches each name for at most 1 s, and only names of models that exist. */
@Injectable()
export class ModelDirectory {
  private readonly cache = new BriefCache<readonly CalledModel[]>((found) => found.length > 0);
  /** For calls of the service itself, which know no organization. */
  private readonly byPlace = new BriefCache<readonly CalledModel[]>((found) => found.length > 0);

  /** Opened keys, for as long as their providers are cached. */
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
      (await this.models.find(orgId, nameOrId)).map(toCalled),
    );
  }

  /** Returns the same as `find`, at once, if it is cached. */
  cached(orgId: string, nameOrId: string): readonly CalledModel[] | undefined {
    return this.cache.cached(keyOf(orgId, nameOrId));
  }

  /** Returns the live model of a workspace with this name or id, or undefined. */
  async findIn(workspaceId: string, nameOrId: string): Promise<CalledModel | undefined> {
    const [model] = await this.byPlace.find(`${workspaceId} ${nameOrId}`, async () =>
      (await this.models.findIn(workspaceId, nameOrId)).map(toCalled),
    );
    return model;
  }

  /** Returns the live model with this id, or undefined. */
  async findById(modelId: string): Promise<CalledModel | undefined> {
    const [model] = await this.byPlace.find(modelId, async () =>
      (await this.models.findById(modelId)).map(toCalled),
    );
    return model;
  }

  /** Drops the models of an organization, because one of them or a provider has changed. */
  invalidate(orgId: string): void {
    this.cache.invalidateAll(keyOf(orgId, ''));
    this.byPlace.invalidateAll('');
  }

  /**
   * Returns the API key of a provider, or null if it has none.
   *
   * @throws SealedSecretError if it was sealed under another `SECRETS_KEY` or for another provider
   */
  apiKeyOf(provider: CalledProvider): string | null {
    const { provider_id, api_key } = provider;
    if (api_key === null) return null;
    const known = this.apiKeys.get(provider);
    if (known !== undefined) return known;
    const opened = this.box.open(api_key, providerSecretUse(provider_id));
    this.apiKeys.set(provider, opened);
    return opened;
  }
}

const keyOf = (orgId: string, nameOrId: string): string => `${orgId} ${nameOrId}`;

function toCalled({ providers, targets, ...model }: CalledModelRow): CalledModel {
  const known = new Map(
    providers.map(({ base_url, ...provider }): [string, CalledProvider] => [
      provider.provider_id,
      { ...provider, base: new URL(base_url) },
    ]),
  );
  const called = targets.map(({ provider_id, ...target }): CalledTarget => {
    const provider = known.get(provider_id);
    if (!provider) throw new Error(`The model ${model.model_id} has lost its provider ${provider_id}.`);
    return { ...target, provider };
  });
  return { ...model, targets: called };
}
