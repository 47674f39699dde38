import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import type { Tx } from '#platform/db';
import type { SearchDocument, SearchType } from './search-document';
import { SearchIndexRepository } from './search-index.repository';

/** What `POST /registry/v1/search` finds. Whatever makes, changes or archives a resource of a `SearchType` tells it. */
@Injectable()
export class SearchIndex {
  constructor(private readonly documents: SearchIndexRepository) {}

  /** Has resources found, as they are now: in the transaction that writes them, so that the next search finds them. */
  async put(tx: Tx, scope: OrgScope, ...documents: readonly SearchDocument[]): Promise<void> {
    if (documents.length > 0) await this.documents.put(tx, scope, documents);
  }

  /** Has resources found no longer: in the transaction that archives them. */
  async remove(tx: Tx, scope: OrgScope, type: SearchType, ...ids: readonly string[]): Promise<void> {
    if (ids.length > 0) await this.documents.remove(tx, scope, type, ids);
  }
}
