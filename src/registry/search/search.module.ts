import { Module } from '@nestjs/common';
import { EmbeddingsModule } from './embeddings/embeddings.module';
import { ArchivedWorkspaceRepository } from './archived-workspace.repository';
import { FoundDocumentRepository } from './found-document.repository';
import { KeywordSearchRepository } from './keyword-search.repository';
import { SearchService } from './search.service';
import { VectorSearchRepository } from './vector-search.repository';

/** Searching: for the API, and whatever else answers what was searched for. */
@Module({
  imports: [EmbeddingsModule],
  providers: [
    SearchService,
    KeywordSearchRepository,
    VectorSearchRepository,
    FoundDocumentRepository,
    ArchivedWorkspaceRepository,
  ],
  exports: [SearchService],
})
export class SearchModule {}
