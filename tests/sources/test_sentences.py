from langscape.sources import samples, sentences


def test_stops_end_sentences_and_abbreviations_do_not():
    text = (
        'Dr. Berg met J. Lind at No. 5. They spoke (e.g. of Rome). "Why?" he asked. It was 3.5 km… Then rain!'
    )
    assert sentences(text) == [
        "Dr. Berg met J. Lind at No. 5.",
        "They spoke (e.g. of Rome).",
        '"Why?" he asked.',
        "It was 3.5 km…",
        "Then rain!",
    ]


def test_a_blank_line_ends_a_sentence_and_a_single_break_does_not():
    assert sentences("one\ntwo\n\nthree  four\n") == ["one two", "three four"]
    assert sentences("  \n\n ") == []


def test_no_word_is_lost():
    text = samples.text("valley")
    assert " ".join(sentences(text)) == " ".join(text.split())
    assert len(sentences(text)) > 100
