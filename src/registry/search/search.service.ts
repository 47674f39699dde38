import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { Environment } from '#platform/config';
import { Database, readWithin, type SqlExecutor } from '#platform/db';
import { PAGE_SIZE_DEFAULT } from '#platform/paging';
import { Problem, problem } from '#platform/problem';
import { FairTurns } from '#platform/turns';
import { BUILTIN_IDENTITY } from './embeddings/builtin.embedder';
import { normalized } from './embeddings/parts';
import { QueryEmbedder, type TurnOwner } from './embeddings/query.embedder';
import { type SearchBackend, SearchBackendRepository } from './embeddings/search-backend.repository';
import { ArchivedWorkspaceRepository } from './archived-workspace.repository';
import { FoundDocumentRepository } from './found-document.repository';
import { highlightOf } from './highlight';
import { KeywordSearchRepository } from './keyword-search.repository';
import { fuse, type FusedDocument, placed } from './ranking';
import type { SearchReach } from './search-reach';
import { type Sought, soughtOf, WORDS_MAX } from './search-words';
import type { SearchDto, SearchItemDto, SearchPageDto } from './search.dto';
import { NEAREST_MAX, VectorSearchRepository } from './vector-search.repository';

/**
 * What the built-in embedder finds no nearer than this shares hashes with what is looked for, and hardly a word. Measured
 * on the skills of `test/fixtures` and names of few words: at 0.3 all names are found by themselves and by each of their
 * words, 86 % with a letter left out, and 0.3 % of what has nothing in common; at 0.2 it is 100 %, and 1.2 %.
 */
const BUILTIN_FLOOR = 0.3;

/** Of a process's connections, those that searches may hold at once: all else has the others. */
const CONNECTION_SHARE = 0.5;

/** Searches that wait for their turn, of all organizations together. */
const WAITING_MAX = 1_000;

/** How much of a request's time reading may take. */
const READ_SHARE = 0.8;

/** How much of that may pass until the query is embedded, so that words can still be searched for. */
const ASK_SHARE = 0.5;

/** What is searched for, checked. */
interface Search {
  sought: Sought;
  reach: SearchReach;
  limit: number;
  offset: number;
}

/** What vectors are searched by. */
interface Near {
  backend: SearchBackend;
  /** Null for a query without a direction, to which nothing is near. */
  vector: Float64Array | null;
}

/** What one page is cut from. */
interface Found {
  page: FusedDocument[];
  total: number | null;
}

/** Searches in all that the caller may read. Organizations take turns, because a search may take a second. */
@Injectable()
export class SearchService {
  private readonly turns: FairTurns;
  private readonly timeoutMs: number;

  constructor(
    private readonly database: Database,
    environment: Environment,
    private readonly backends: SearchBackendRepository,
    private readonly embedder: QueryEmbedder,
    private readonly byWords: KeywordSearchRepository,
    private readonly byVectors: VectorSearchRepository,
    private readonly found: FoundDocumentRepository,
    private readonly archived: ArchivedWorkspaceRepository,
  ) {
    const atOnce = Math.max(1, Math.floor(environment.DATABASE_POOL_SIZE * CONNECTION_SHARE));
    this.turns = new FairTurns(atOnce, WAITING_MAX);
    this.timeoutMs = environment.REQUEST_TIMEOUT_MS * READ_SHARE;
  }

  /**
   * One page of what is found, the best first. Errors: 400 for a query or a vector that is missing or cannot be used; 503
   * where the mode is `vector` and the query cannot be embedded, or too many wait for their turn; 504 when time is over.
   */
  async search(scope: OrgScope, dto: SearchDto, signal: AbortSignal): Promise<SearchPageDto> {
    const mode = dto.mode ?? 'hybrid';
    const asked = searchOf(dto);
    const deadline = performance.now() + this.timeoutMs;
    const owner = { orgId: scope.orgId, workspaceId: asked.reach.workspaceId ?? '' };
    const near = mode === 'keyword' ? null : await this.near(owner, dto, signal);
    const read = async (on: SqlExecutor): Promise<SearchPageDto> => {
      const search = { ...asked, reach: await this.live(on, scope, asked.reach) };
      const { page, total } = await this.find(
        on,
        scope,
        search,
        mode === 'vector' ? null : search.sought,
        near,
      );
      const items = await this.items(on, scope, search, page);
      const { limit, offset } = search;
      return {
        items,
        page: { limit, offset, total, next_cursor: null },
        vector_unavailable: mode === 'hybrid' && near === null,
      };
    };
    return this.turns.take(owner, signal, () => readWithin(this.database, deadline, read, signal));
  }

  /** Without what lies in archived workspaces, unless the caller names one. */
  private async live(on: SqlExecutor, scope: OrgScope, reach: SearchReach): Promise<SearchReach> {
    if (reach.workspaceId !== undefined || scope.narrowedTo !== null) return reach;
    return { ...reach, archived: await this.archived.ids(on, scope) };
  }

  /** What vectors are searched by; null where the query cannot be embedded, and words do without. */
  private async near(owner: TurnOwner, dto: SearchDto, signal: AbortSignal): Promise<Near | null> {
    const backend = await this.backends.active();
    if (dto.vector !== undefined) return { backend, vector: givenVector(dto.vector, backend) };
    try {
      return {
        backend,
        vector: await this.embedder.embed(owner, backend, dto.query!, signal, this.timeoutMs * ASK_SHARE),
      };
    } catch (error) {
      const isAway =
        error instanceof Problem && ['service_unavailable', 'service_overloaded'].includes(error.code);
      if (!isAway || dto.mode === 'vector') throw error;
      return null;
    }
  }

  private async find(
    on: SqlExecutor,
    scope: OrgScope,
    { reach, limit, offset }: Search,
    sought: Sought | null,
    near: Near | null,
  ): Promise<Found> {
    if (sought !== null && near === null) {
      const { documents, total } = await this.byWords.rank(on, scope, reach, sought, { limit, offset });
      return { page: placed(documents, 'keyword', offset), total };
    }
    const vectors = await this.nearest(on, scope, reach, near!);
    const cut = <Item>(all: readonly Item[]): Item[] => all.slice(offset, offset + limit);
    if (sought === null) {
      return { page: placed(cut(vectors.documents), 'vector', offset), total: vectors.total };
    }
    const best = { limit: NEAREST_MAX, offset: 0 };
    const keywords = await this.byWords.rank(on, scope, reach, sought, best);
    const fused = fuse(keywords.documents, vectors.documents);
    const isAll = keywords.total === keywords.documents.length && vectors.total !== null;
    return { page: cut(fused), total: isAll ? fused.length : null };
  }

  private async nearest(on: SqlExecutor, scope: OrgScope, reach: SearchReach, { backend, vector }: Near) {
    if (vector === null) return { documents: [], total: 0 };
    const floor = backend.identity === BUILTIN_IDENTITY ? BUILTIN_FLOOR : -Infinity;
    return this.byVectors.rank(on, scope, reach, backend, vector, floor);
  }

  private async items(
    on: SqlExecutor,
    scope: OrgScope,
    { reach, sought }: Search,
    page: readonly FusedDocument[],
  ): Promise<SearchItemDto[]> {
    const ids = page.map((one) => one.document_id);
    const words = new Set(sought.words.flatMap(({ word, parts }) => [word, ...parts]));
    const documents = await this.found.read(on, scope, reach, ids, [...words]);
    return page.flatMap(({ document_id, score, ranks }) => {
      const document = documents.get(document_id);
      if (!document) return [];
      const { resource_type, resource_id, name, description, workspace_id, headline } = document;
      const told = { type: resource_type, id: resource_id, name, description, workspace_id };
      return [{ ...told, score, ranks, highlight: highlightOf(headline) }];
    });
  }
}

function searchOf(dto: SearchDto): Search {
  const needsQuery = dto.mode !== 'vector' || dto.vector === undefined;
  if (needsQuery && dto.query === undefined) {
    const detail =
      dto.mode === 'vector' ? 'is required where there is no vector' : 'is required in this mode';
    throw problem.invalidFields([{ pointer: '/query', detail }]);
  }
  if (dto.mode === 'keyword' && dto.vector !== undefined) {
    const detail = 'has no meaning in the mode keyword: leave it out, or search in another';
    throw problem.invalidFields([{ pointer: '/vector', detail }]);
  }
  const sought = soughtOf(dto.query ?? '');
  if (needsQuery && sought.typed === '') {
    throw problem.invalidFields([{ pointer: '/query', detail: 'must hold more than blanks' }]);
  }
  if (sought.words.length > WORDS_MAX) {
    throw problem.invalidFields([{ pointer: '/query', detail: `may have at most ${WORDS_MAX} words` }]);
  }
  const reach = {
    workspaceId: dto.workspace_id,
    types: dto.types,
    updatedAfter: dto.filters?.updated_after,
    updatedBefore: dto.filters?.updated_before,
  };
  return { sought, reach, limit: dto.limit ?? PAGE_SIZE_DEFAULT, offset: dto.offset ?? 0 };
}

function givenVector(given: readonly number[], { dimensions }: SearchBackend): Float64Array {
  const unfit = (detail: string): Problem => problem.invalidFields([{ pointer: '/vector', detail }]);
  if (given.length !== dimensions) {
    throw unfit(`must have ${dimensions} numbers, as the embeddings have, not ${given.length}`);
  }
  const vector = normalized(given);
  if (vector === null) throw unfit('must have a number that is not 0');
  return vector;
}
