import { Injectable } from '@nestjs/common';
import { Environment } from '#platform/config';
import type { CalledProvider } from '../models/model-directory';

/** A model of the operator's configuration, which may have a private address. Tenants see neither it nor its calls. */
export interface InstalledModel {
  provider: CalledProvider;
  /** The path of requests, below the base URL of the provider. */
  path: string;
}

/** The models that the operator configured in the environment. Undefined if they are not. */
@Injectable()
export class InstalledModels {
  readonly judge: InstalledModel | undefined;
  readonly classifier: InstalledModel | undefined;
  readonly embeddings: InstalledModel | undefined;

  constructor(environment: Environment) {
    const { JUDGE_BASE_URL, JUDGE_API_KEY, CLASSIFIER_BASE_URL, CLASSIFIER_API_KEY } = environment;
    const { EMBEDDINGS_BASE_URL, EMBEDDINGS_API_KEY } = environment;
    this.judge = installed('judge', '/chat/completions', JUDGE_BASE_URL, JUDGE_API_KEY);
    this.classifier = installed('classifier', '', CLASSIFIER_BASE_URL, CLASSIFIER_API_KEY);
    this.embeddings = installed('embeddings', '/embeddings', EMBEDDINGS_BASE_URL, EMBEDDINGS_API_KEY);
  }
}

/** Splits a URL as OpenAI's clients do: it may already end with the path of requests, and keeps its query string. */
function installed(
  name: string,
  path: string,
  baseUrl: string | undefined,
  apiKey: string | undefined,
): InstalledModel | undefined {
  if (baseUrl === undefined) return undefined;
  const base = new URL(baseUrl);
  base.username = base.password = '';
  const full = base.pathname;
  if (path !== '') base.pathname = full.replace(new RegExp(`(${path})?/*$`), '');
  const provider: CalledProvider = {
    provider_id: '',
    name,
    kind: 'openai',
    is_archived: false,
    isTrusted: true,
    base,
    origin: base.origin,
    path: path === '' ? base.pathname : base.pathname.replace(/\/$/, ''),
    query: base.search,
    headers: {},
    apiKey: () => apiKey ?? null,
  };
  return { provider, path };
}
