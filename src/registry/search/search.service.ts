import { Injectable } from '@nestjs/common';
import type { OrgScope, Scope } from '#platform/auth';
import { FairLimiter } from '#platform/concurrency';
import { Environment } from '#platform/config';
import { Database, readWithin, type SqlExecutor } from '#platform/db';
import { PAGE_SIZE_DEFAULT } from '#platform/paging';
import { Problem, problem } from '#platform/problem';
import { BUILTIN_IDENTITY, normalized } from '../../resources';
import { QueryEmbedder } from './embeddings/query.embedder';
import { highlightIn, highlightOf } from './highlight';
import { KeywordSearchRepository } from './keyword-search.repository';
import { type NormalizedQuery, normalizeQuery, WORDS_MAX } from './normalized-query';
import { fuse, type FusedDocument, type Ranking, withRanks } from './ranking';
import { SearchHitRepository } from './search-hit.repository';
import type { SearchReach } from './search-reach.repository';
import type { SearchDto, SearchItemDto, SearchPageDto } from './search.dto';
import { NEAREST_MAX, VectorSearchRepository } from './vector-search.repository';

/**
 * Minimum cosine with the built-in embedder. Below it, documents share hashes with the query rather than words. Measured on the
 * skills of `test/fixtures` and on short names. With 0.3, every name is found by itself and by each of its words, 86% of names
 * are found with a missing letter, and 0.3% of unrelated documents are found. With 0.2, it is 100% and 1.2%.
 */
const BUILTIN_FLOOR = 0.3;

/** Share of the connections of a process that searches may hold at once. */
const CONNECTION_SHARE = 0.5;

/** Maximum number of waiting searches, of all organizations together. */
const WAITING_MAX = 1_000;

/** Share of a request's time that a search may take. */
const READ_SHARE = 0.8;

/** Share of that time for embedding the query. The rest leaves time for a keyword search. */
const EMBED_SHARE = 0.5;

/** A validated request. */
interface Search {
  query: NormalizedQuery;
  reach: SearchReach;
  limit: number;
  offset: number;
}

/** The vector to search by. Null for a query without words. */
interface EmbeddedQuery {
  vector: Float64Array | null;
}

interface ResultPage {
  documents: FusedDocument[];
  total: number | null;
}

/** Searches everything that the caller may read. Organizations take turns, because a search may take a second. */
@Injectable()
export class SearchService {
  private readonly limiter: FairLimiter;
  private readonly timeoutMs: number;

  constructor(
    private readonly database: Database,
    environment: Environment,
    private readonly embedder: QueryEmbedder,
    private readonly keywords: KeywordSearchRepository,
    private readonly vectors: VectorSearchRepository,
    private readonly hits: SearchHitRepository,
  ) {
    const share = Math.max(2, Math.floor(environment.DATABASE_POOL_SIZE * CONNECTION_SHARE));
    this.limiter = new FairLimiter({ share, maxWaiting: WAITING_MAX });
    this.timeoutMs = environment.REQUEST_TIMEOUT_MS * READ_SHARE;
  }

  /**
   * Returns one page of results, the best first. Errors: 400 for a query or vector that is missing or invalid; 503 if
   * the mode is `vector` and the query cannot be embedded, or if too many searches wait; 504 after the timeout.
   */
  async search(scope: OrgScope, dto: SearchDto, signal: AbortSignal): Promise<SearchPageDto> {
    const mode = dto.mode ?? 'hybrid';
    const requested = searchOf(dto);
    const deadline = performance.now() + this.timeoutMs;
    const owner = { orgId: scope.orgId, workspaceId: requested.reach.workspaceId ?? '' };
    const embedded = mode === 'keyword' ? null : await this.embedQuery(owner, dto, signal);
    const read = async (on: SqlExecutor): Promise<SearchPageDto> => {
      const search = { ...requested, reach: await this.liveReach(on, scope, requested.reach) };
      const { documents, total } = await this.pageOf(on, scope, search, mode !== 'vector', embedded);
      const { limit, offset } = search;
      return {
        items: await this.items(on, scope, search, documents),
        page: { limit, offset, total, next_cursor: null },
        vector_unavailable: mode === 'hybrid' && embedded === null,
      };
    };
    return this.limiter.run(owner, signal, () => readWithin(this.database, deadline, read, signal));
  }

  /** Excludes archived workspaces, unless the request names a workspace. */
  private async liveReach(on: SqlExecutor, scope: OrgScope, reach: SearchReach): Promise<SearchReach> {
    if (reach.workspaceId !== undefined) return reach;
    return { ...reach, archived: await this.hits.archivedWorkspaces(on, scope) };
  }

  /** Returns the vector to search by, or null if the query cannot be embedded and a keyword search is enough. */
  private async embedQuery(
    owner: Pick<Scope, 'orgId' | 'workspaceId'>,
    dto: SearchDto,
    signal: AbortSignal,
  ): Promise<EmbeddedQuery | null> {
    if (dto.vector !== undefined)
      return { vector: parseVector(dto.vector, await this.embedder.dimensions()) };
    try {
      return { vector: await this.embedder.embed(owner, dto.query!, signal, this.timeoutMs * EMBED_SHARE) };
    } catch (error) {
      const isUnavailable =
        error instanceof Problem && ['service_unavailable', 'service_overloaded'].includes(error.code);
      if (!isUnavailable || dto.mode === 'vector') throw error;
      return null;
    }
  }

  private async pageOf(
    on: SqlExecutor,
    scope: OrgScope,
    { query, reach, limit, offset }: Search,
    usesKeywords: boolean,
    embedded: EmbeddedQuery | null,
  ): Promise<ResultPage> {
    if (embedded === null) {
      const { documents, total } = await this.keywords.rank(on, scope, reach, query, { limit, offset });
      return { documents: withRanks(documents, 'keyword', offset), total };
    }
    const nearest = await this.rankByVector(on, scope, reach, embedded);
    const cut = <Item>(all: readonly Item[]): Item[] => all.slice(offset, offset + limit);
    if (!usesKeywords) {
      return { documents: withRanks(cut(nearest.documents), 'vector', offset), total: nearest.total };
    }
    const keywords = await this.keywords.rank(on, scope, reach, query, { limit: NEAREST_MAX, offset: 0 });
    const fused = fuse(keywords.documents, nearest.documents);
    const isComplete = keywords.total === keywords.documents.length && nearest.total !== null;
    return { documents: cut(fused), total: isComplete ? fused.length : null };
  }

  private async rankByVector(
    on: SqlExecutor,
    scope: OrgScope,
    reach: SearchReach,
    { vector }: EmbeddedQuery,
  ): Promise<Ranking> {
    if (vector === null) return { documents: [], total: 0 };
    const { identity } = this.embedder;
    const floor = identity === BUILTIN_IDENTITY ? BUILTIN_FLOOR : -Infinity;
    return this.vectors.rank(on, scope, reach, { identity, vector }, floor);
  }

  private async items(
    on: SqlExecutor,
    scope: OrgScope,
    { reach, query }: Search,
    documents: readonly FusedDocument[],
  ): Promise<SearchItemDto[]> {
    const ids = documents.map((one) => one.document_id);
    const words = new Set(query.words.flatMap(({ word, parts }) => [word, ...parts]));
    const hits = await this.hits.read(on, scope, reach, ids, [...words]);
    return documents.flatMap(({ document_id, score, ranks }) => {
      const hit = hits.get(document_id);
      if (!hit) return [];
      const {
        resource_type: type,
        resource_id: id,
        name,
        description,
        workspace_id,
        headline,
        windows,
      } = hit;
      const highlight = highlightOf(headline) ?? highlightIn(windows, [...words]);
      return [{ type, id, name, description, workspace_id, score, ranks, highlight }];
    });
  }
}

function searchOf(dto: SearchDto): Search {
  const needsQuery = dto.mode !== 'vector' || dto.vector === undefined;
  if (needsQuery && dto.query === undefined) {
    const detail = dto.mode === 'vector' ? 'is required without `vector`' : 'is required in this mode';
    throw problem.invalidField('/query', detail);
  }
  if (dto.mode === 'keyword' && dto.vector !== undefined) {
    const detail = 'is not allowed in the mode `keyword`. Leave it out, or use another mode';
    throw problem.invalidField('/vector', detail);
  }
  const query = normalizeQuery(dto.query ?? '');
  if (needsQuery && query.text === '') {
    throw problem.invalidField('/query', 'must not be blank');
  }
  if (query.words.length > WORDS_MAX) {
    throw problem.invalidField('/query', `must have at most ${WORDS_MAX} words`);
  }
  const reach = {
    workspaceId: dto.workspace_id,
    types: dto.types,
    updatedAfter: dto.filters?.updated_after,
    updatedBefore: dto.filters?.updated_before,
  };
  return { query, reach, limit: dto.limit ?? PAGE_SIZE_DEFAULT, offset: dto.offset ?? 0 };
}

function parseVector(numbers: readonly number[], dimensions: number | undefined): Float64Array {
  const invalid = (detail: string): Problem => problem.invalidField('/vector', detail);
  if (dimensions !== undefined && numbers.length !== dimensions) {
    throw invalid(`must have ${dimensions} numbers, like the stored embeddings, not ${numbers.length}`);
  }
  const vector = normalized(numbers);
  if (vector === null) throw invalid('must not be all zeros');
  return vector;
}
