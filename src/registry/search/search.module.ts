import { Module } from '@nestjs/common';
import { EmbeddingsModule } from './embeddings/embeddings.module';
import { KeywordSearchRepository } from './keyword-search.repository';
import { SearchHitRepository } from './search-hit.repository';
import { SearchService } from './search.service';
import { VectorSearchRepository } from './vector-search.repository';

/** Search, for its route and for other areas. */
@Module({
  imports: [EmbeddingsModule],
  providers: [SearchService, KeywordSearchRepository, VectorSearchRepository, SearchHitRepository],
  exports: [SearchService],
})
export class SearchModule {}
