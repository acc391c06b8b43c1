/* SPDX-License-Identifier: Apache-2.0 */
#include "timeline/picture.h"

#include "base/alloc.h"

static const uint64_t LARGEST_BUCKET_NS = UINT64_C(1) << 62;

/* What the rectangles of a track come to with buckets of some size. */
struct plan {
    const struct ss_timeline_track *track;
    uint32_t id, first_lane, lanes;
    uint64_t bucket_ns;
    size_t rects; /* or points */
};

struct planning {
    const struct ss_timeline *timeline;
    const struct ss_picture_request *request;
    struct plan plans[SS_PICTURE_MAX_TRACKS];
    struct ss_lane_rect *rects;
    struct ss_series_point *points;
};

/* One to two pixels. */
static uint64_t smallest_bucket_ns(const struct ss_picture_request *request)
{
    uint64_t pixel_ns = (request->to_ns - request->from_ns) / request->px, bucket_ns = 1;
    while (bucket_ns <= pixel_ns) {
        bucket_ns *= 2;
    }
    return bucket_ns;
}

static size_t draw_lane(const struct planning *planning, const struct plan *plan, uint32_t lane)
{
    const struct ss_picture_request *request = planning->request;
    uint64_t base_ns = plan->track->base_ns;
    return ss_lane_rects(&planning->timeline->lanes.data[lane], base_ns + request->from_ns,
                         base_ns + request->to_ns, plan->bucket_ns, planning->rects,
                         SS_PICTURE_MAX_RECTS);
}

static size_t draw_points(const struct planning *planning, const struct plan *plan)
{
    const struct ss_picture_request *request = planning->request;
    uint64_t base_ns = plan->track->base_ns;
    return ss_series_points(&plan->track->series, base_ns + request->from_ns,
                            base_ns + request->to_ns, plan->bucket_ns, planning->points,
                            SS_PICTURE_MAX_RECTS);
}

/* Stops counting beyond the maximum. */
static void count_rects(const struct planning *planning, struct plan *plan)
{
    plan->rects = 0;
    if (plan->track->kind == SS_TIMELINE_COUNTER) {
        plan->rects = draw_points(planning, plan);
        return;
    }
    for (uint32_t i = 0; i < plan->lanes && plan->rects <= SS_PICTURE_MAX_RECTS; i++) {
        plan->rects += draw_lane(planning, plan, plan->first_lane + i);
    }
}

/* Which lanes of a track are asked for: of very many, as many as can have a rectangle each. */
static void plan_track(struct planning *planning, uint32_t i, uint32_t most_lanes)
{
    const struct ss_picture_request *request = planning->request;
    struct plan *plan = &planning->plans[i];
    plan->id = request->tracks[i];
    plan->track = &planning->timeline->tracks.data[plan->id];
    plan->bucket_ns = smallest_bucket_ns(request);
    uint32_t skipped =
        request->first_lane < plan->track->lanes ? request->first_lane : plan->track->lanes;
    plan->first_lane = plan->track->first_lane + skipped;
    plan->lanes = plan->track->lanes - skipped;
    plan->lanes =
        request->lanes != 0 && request->lanes < plan->lanes ? request->lanes : plan->lanes;
    plan->lanes = plan->lanes < most_lanes ? plan->lanes : most_lanes;
}

/* Doubles the buckets of the tracks that have more than their share, until all have room. */
static void fit(struct planning *planning)
{
    uint32_t count = planning->request->track_count;
    size_t share = SS_PICTURE_MAX_RECTS / count, all = 0;
    for (uint32_t i = 0; i < count; i++) {
        count_rects(planning, &planning->plans[i]);
        all += planning->plans[i].rects;
    }
    /* With the largest bucket, a lane of times that a clock can show has one rectangle. */
    for (int doublings = 0; all > SS_PICTURE_MAX_RECTS && doublings < 64; doublings++) {
        all = 0;
        for (uint32_t i = 0; i < count; i++) {
            struct plan *plan = &planning->plans[i];
            if (plan->rects > share && plan->bucket_ns < LARGEST_BUCKET_NS) {
                plan->bucket_ns *= 2;
                count_rects(planning, plan);
            }
            all += plan->rects;
        }
    }
}

/* What of `count` there is room for. */
static size_t room(const struct ss_picture *picture, size_t count)
{
    size_t left = SS_PICTURE_MAX_RECTS - picture->rects.count - picture->points.count;
    return count < left ? count : left;
}

/* False: there was no room for all of it. */
static bool store_points(struct ss_picture *picture, const struct planning *planning,
                         const struct plan *plan)
{
    struct ss_picture_row row = {.track = plan->id, .bucket_ns = plan->bucket_ns};
    size_t count = draw_points(planning, plan), some = room(picture, count);
    row.first = picture->points.count;
    for (size_t i = 0; i < some; i++) {
        ss_vec_push(&picture->points, planning->points[i]);
    }
    row.end = picture->points.count;
    ss_vec_push(&picture->rows, row);
    return some == count;
}

static bool store_lane(struct ss_picture *picture, const struct planning *planning,
                       const struct plan *plan, uint32_t lane)
{
    struct ss_picture_row row = {.track = plan->id, .lane = lane, .bucket_ns = plan->bucket_ns};
    size_t count = draw_lane(planning, plan, lane), some = room(picture, count);
    row.first = picture->rects.count;
    for (size_t i = 0; i < some; i++) {
        ss_vec_push(&picture->rects, planning->rects[i]);
    }
    row.end = picture->rects.count;
    ss_vec_push(&picture->rows, row);
    return some == count;
}

/* Stores the pictures of all tracks. False: they have more than a picture may have; then, unless it
 * `stores_rest`, it stopped there. */
static bool store_all(struct ss_picture *picture, const struct planning *planning, bool stores_rest)
{
    bool has_room = true;
    for (uint32_t i = 0; i < planning->request->track_count; i++) {
        const struct plan *plan = &planning->plans[i];
        bool is_counter = plan->track->kind == SS_TIMELINE_COUNTER;
        if (is_counter && (has_room || stores_rest)) {
            has_room = store_points(picture, planning, plan) && has_room;
        }
        for (uint32_t j = 0; !is_counter && j < plan->lanes && (has_room || stores_rest); j++) {
            has_room = store_lane(picture, planning, plan, plan->first_lane + j) && has_room;
        }
    }
    return has_room;
}

void ss_picture_init(struct ss_picture *picture, const struct ss_timeline *timeline,
                     const struct ss_picture_request *request)
{
    *picture = (struct ss_picture){0};
    if (request->track_count == 0 || request->to_ns <= request->from_ns) {
        return;
    }
    struct planning *planning = ss_alloc_zero(1, sizeof *planning);
    planning->timeline = timeline;
    planning->request = request;
    planning->rects = ss_alloc(SS_PICTURE_MAX_RECTS * sizeof *planning->rects);
    planning->points = ss_alloc(SS_PICTURE_MAX_RECTS * sizeof *planning->points);
    for (uint32_t i = 0; i < request->track_count; i++) {
        plan_track(planning, i, (uint32_t)(SS_PICTURE_MAX_RECTS / request->track_count / 4));
    }
    /* Most fit at once. */
    if (!store_all(picture, planning, false)) {
        fit(planning);
        ss_vec_clear(&picture->rows);
        ss_vec_clear(&picture->rects);
        ss_vec_clear(&picture->points);
        store_all(picture, planning, true);
    }
    ss_free(planning->rects);
    ss_free(planning->points);
    ss_free(planning);
}

void ss_picture_fini(struct ss_picture *picture)
{
    ss_vec_fini(&picture->rows);
    ss_vec_fini(&picture->rects);
    ss_vec_fini(&picture->points);
}
