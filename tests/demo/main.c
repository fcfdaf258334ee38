// Compares edge_conv with a reference written for this check alone, on sizes that do and do not fill a vector.

#include "edge_conv.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Floats before and after the output that nobody may touch.
enum { GUARD = 64 };
static const float UNTOUCHED = 12345.0f;

static unsigned int state = 12345;

// Multiples of 1/128 in [-1, 1). Products are multiples of 2^-14, and sums of up to 9 * 16 of them stay below 2^8, so
// single precision holds every intermediate result exactly and the order of summation does not matter: results are
// compared for equality.
static float draw(void) {
    state = state * 1664525u + 1013904223u;
    return (float)(int)((state >> 16) & 0xff) / 128.0f - 1.0f;
}

static float *fill(size_t count) {
    float *data = malloc(count * sizeof *data);
    if (data == NULL) {
        perror("malloc");
        exit(3);
    }
    for (size_t k = 0; k < count; k++) data[k] = draw();
    return data;
}

// What one output must be.
static double reference(long channels, long height, long width, const float *x, const float *w, long out, long row,
                        long column) {
    double sum = 0.0;
    for (long tap = 0; tap < 9; tap++) {
        long down = tap / 3, right = tap % 3;
        for (long channel = 0; channel < channels; channel++) {
            double pixel = x[(channel * (height + 2) + row + down) * (width + 2) + column + right];
            double weight = w[(out * channels + channel) * 9 + tap];
            sum += pixel * weight;
        }
    }
    return sum;
}

static int agrees(long channels, long outs, long height, long width) {
    size_t x_count = (size_t)(channels * (height + 2) * (width + 2)), w_count = (size_t)(outs * channels * 9);
    size_t y_count = (size_t)(outs * height * width);
    float *x = fill(x_count), *w = fill(w_count), *room = fill(y_count + 2 * GUARD), *y = room + GUARD;
    float *x_before = malloc(x_count * sizeof *x), *w_before = malloc(w_count * sizeof *w);
    if (x_before == NULL || w_before == NULL) {
        perror("malloc");
        exit(3);
    }
    memcpy(x_before, x, x_count * sizeof *x);
    memcpy(w_before, w, w_count * sizeof *w);
    for (size_t k = 0; k < GUARD; k++) room[k] = y[y_count + k] = UNTOUCHED;
    // What the output held before must not matter.
    for (size_t k = 0; k < y_count; k++) y[k] = NAN;

    edge_conv(NULL, channels, outs, height, width, x, w, y);

    int bad = 0;
    for (long out = 0; out < outs; out++)
        for (long row = 0; row < height; row++)
            for (long column = 0; column < width; column++) {
                double wanted = reference(channels, height, width, x_before, w_before, out, row, column);
                double got = y[(out * height + row) * width + column];
                if (got != wanted && bad++ == 0)
                    printf("IC=%ld OC=%ld H=%ld W=%ld: y[%ld, %ld, %ld] is %g, should be %g\n", channels, outs, height,
                           width, out, row, column, got, wanted);
            }
    for (size_t k = 0; k < GUARD; k++)
        if (room[k] != UNTOUCHED || y[y_count + k] != UNTOUCHED) {
            printf("IC=%ld OC=%ld H=%ld W=%ld: wrote outside the output\n", channels, outs, height, width);
            bad++;
            break;
        }
    if (memcmp(x, x_before, x_count * sizeof *x) != 0 || memcmp(w, w_before, w_count * sizeof *w) != 0) {
        printf("IC=%ld OC=%ld H=%ld W=%ld: changed an input\n", channels, outs, height, width);
        bad++;
    }
    free(x), free(w), free(room), free(x_before), free(w_before);
    return bad == 0;
}

int main(void) {
    // Input channels, output channels, height, width.
    static const long sizes[][4] = {
        {1, 1, 1, 1},  {1, 1, 1, 3},   {2, 3, 5, 4},   {3, 4, 4, 8},   {3, 5, 7, 9},   {4, 8, 16, 16},
        {5, 7, 3, 17}, {8, 16, 6, 31}, {3, 2, 13, 33}, {16, 4, 9, 64}, {1, 9, 2, 100}, {7, 12, 11, 23},
    };
    size_t count = sizeof sizes / sizeof sizes[0];
    size_t good = 0;
    for (size_t k = 0; k < count; k++) good += (size_t)agrees(sizes[k][0], sizes[k][1], sizes[k][2], sizes[k][3]);
    printf("edge_conv: %zu of %zu sizes agree with the reference\n", good, count);
    return good == count ? 0 : 1;
}
